"""Budgets: cost estimates before each model call, recorded costs, and which agent pays for helpers."""
