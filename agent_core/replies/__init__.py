"""Reading what a model answers: JSON extraction, lenient JSON, the command, and the check that nothing was invented."""
