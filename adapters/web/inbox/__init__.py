"""What waits for a person, and what goes on beside it: the page `/`."""
