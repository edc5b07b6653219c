"""Embedders: OpenAI-compatible endpoints, local word vectors, hashed words."""
