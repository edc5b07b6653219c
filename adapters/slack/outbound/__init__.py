"""Slack's messages, cards, forms and the Home tab, within Slack's limits."""
