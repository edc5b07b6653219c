"""The agent loop: ask the model, show its proposal to people, run what they approved, save and show the result."""
