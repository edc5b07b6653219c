"""Vector indexes: embedded nearest-neighbour search and Pinecone."""
