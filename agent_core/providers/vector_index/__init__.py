"""Memory indexes: nearest-neighbour search on this machine, or in Pinecone."""
