"""Slack: cards as messages in a thread, clicks and replies over Socket Mode or signed HTTP."""
