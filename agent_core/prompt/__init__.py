"""Prompts: what language models read. Pure functions, and the metered client that calls the models."""
