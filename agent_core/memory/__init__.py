"""Long-term memory: chunking of past turns, embedding, retrieval and reindexing."""
