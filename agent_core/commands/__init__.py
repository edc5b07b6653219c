"""The commands of agents: a registry, and one module for each family. Commands get ports, never the services."""
