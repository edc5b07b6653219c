"""Text extraction from documents and web pages, in isolated worker processes."""
