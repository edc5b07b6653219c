"""The scripted model of demo mode."""
