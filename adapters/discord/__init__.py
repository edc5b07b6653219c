"""Discord: slash commands, cards as messages of components, forms, replies in threads."""
