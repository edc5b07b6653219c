"""Alembic environment: runs the migration scripts on the connection, and in the transaction, that `schema` opened."""

from alembic import context

from agent_core.persistence.tables import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    render_as_batch=connection.dialect.name == "sqlite",
    transactional_ddl=False,
)
context.run_migrations()
