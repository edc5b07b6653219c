"""What is recorded beside agents and turns."""
