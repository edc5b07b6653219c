"""A hook around commands: it sees each call that people approved, and what became of it."""
