"""A whole agent in twenty lines: what its model says is written down, the rest is Signoff."""
