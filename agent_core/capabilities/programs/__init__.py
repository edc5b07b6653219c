"""Programs and shell lines in a sandbox."""
