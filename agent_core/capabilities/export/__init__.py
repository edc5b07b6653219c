"""Moves an installation from one database to another."""
