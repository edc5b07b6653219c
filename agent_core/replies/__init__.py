"""Parsing of model replies: JSON extraction, lenient JSON, the command, and the verbatim check."""
