"""AutoGPT's plugins, unmodified: found without running them, and run in worker processes in the sandbox."""
