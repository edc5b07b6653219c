"""Discord in one process. Only `wiring.py` imports discord.py."""
