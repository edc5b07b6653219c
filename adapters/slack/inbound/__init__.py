"""Slack's events (messages, clicks, forms, slash commands), each turned into calls of the services."""
