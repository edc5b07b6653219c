"""Tool servers for the tests, each a program of its own."""
