"""Demo mode: a scripted model without AI, which turns goals that match a few patterns into commands."""
