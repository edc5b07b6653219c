"""Text extraction from pages and documents, in short-lived processes with limits."""
