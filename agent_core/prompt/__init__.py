"""What the model reads and how its answer is read: pure functions, and the one place from which it is asked."""
