"""Discord's messages, cards and forms, within Discord's limits."""
