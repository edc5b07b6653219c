"""Slack as a surface: cards are messages in a thread; clicks and replies arrive by Socket Mode or signed HTTP."""
