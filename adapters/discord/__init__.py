"""Discord as a surface: cards as messages built of components, forms, slash commands, and replies in threads."""
