"""What people type and fill in, read into values of the core: commands, settings, form fields."""
