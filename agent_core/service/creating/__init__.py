"""Makes agents: from a form, a sentence, another agent or the tour of demo mode; their limits, names and defaults."""
