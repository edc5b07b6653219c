"""The terminal as a surface: one agent and one person, lines in and text out."""
