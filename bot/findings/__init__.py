"""`signoff doctor`: what is on, what is off, and why."""
