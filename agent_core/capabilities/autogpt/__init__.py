"""AutoGPT's plugins, each in a process of its own."""
