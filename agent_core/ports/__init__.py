"""Protocols for what the core needs from outside. Each docstring is a contract that all implementations keep."""
