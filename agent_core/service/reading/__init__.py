"""What people look at. Read-only."""
