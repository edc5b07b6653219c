"""The database adapter: repositories and units of work on SQLite or PostgreSQL, by SQLAlchemy Core."""
