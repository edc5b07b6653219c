"""Slack in one process. Only `wiring.py` loads Slack's SDK."""
