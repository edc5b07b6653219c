"""Test doubles (fakes) that keep the ports' contracts, and example values; also for authors of plugins."""
