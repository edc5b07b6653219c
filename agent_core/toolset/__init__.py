"""The one interface of commands, and what stands between an agent and a command."""
