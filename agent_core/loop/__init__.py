"""The heart: think, put before people, run what they approved, record, show, and again."""
