"""What people see, described once as values; each surface draws them in its own way."""
