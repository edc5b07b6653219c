"""Engines schedule agents. They only wake agents; the work to do is read from the database."""
