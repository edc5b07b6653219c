"""Replies as models really write them, each with what must come of it."""
