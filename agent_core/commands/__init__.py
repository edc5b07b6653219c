"""What agents can do: a registry and one module for each family of commands. Commands get ports, never the service."""
