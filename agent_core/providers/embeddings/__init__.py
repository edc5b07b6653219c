"""Embedders: by an endpoint, by word vectors on this machine, by hashed words."""
