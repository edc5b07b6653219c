"""Where everything is kept: units of work on SQLite or PostgreSQL. What the records mean is the model's affair."""
