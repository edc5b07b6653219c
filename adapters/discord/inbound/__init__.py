"""Discord's events (clicks, forms, slash commands and messages), each turned into calls of the services."""
