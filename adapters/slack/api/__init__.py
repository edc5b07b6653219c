"""Slack's Web API: clients, tokens, rate limits and the user directory."""
