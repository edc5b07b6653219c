"""Long-term memory: what of an agent's work is kept, and what of it is brought back."""
