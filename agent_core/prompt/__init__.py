"""What the model reads and how its answer is read. Pure functions from values to values."""
