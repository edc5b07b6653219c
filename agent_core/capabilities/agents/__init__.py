"""Helpers of an agent, its past turns, and its end."""
