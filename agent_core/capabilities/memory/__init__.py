"""The commands on long-term memory, its embeddings and its index."""
