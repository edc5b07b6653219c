"""The agent: what it is, how it thinks and acts, and what people may decide about it. Knows no chat platform."""
