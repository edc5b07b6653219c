"""Functions on texts, without effects."""
