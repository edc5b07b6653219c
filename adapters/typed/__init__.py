"""What people press, type and fill in on any surface: reads it into values of the core, and calls the service."""
