"""The agent loop: ask the model, put its proposal before people, run what they approved, save and show the result."""
