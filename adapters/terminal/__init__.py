"""The terminal as a surface: one agent, one person, lines in and text out. Nothing is decided here."""
