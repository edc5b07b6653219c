"""Slack's Web API: clients, tokens, rate limits, and who people are."""
