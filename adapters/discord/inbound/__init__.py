"""What Discord sends: clicks, forms, slash commands and messages, each turned into calls of the service."""
