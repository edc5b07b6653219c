"""Discord in one process. Only `wiring.py` loads discord.py."""
