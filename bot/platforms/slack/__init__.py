"""Slack in one process. Only `wiring.py` imports Slack's SDK."""
