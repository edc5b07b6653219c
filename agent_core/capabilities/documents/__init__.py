"""Reads documents, pages and pictures in confined processes."""
