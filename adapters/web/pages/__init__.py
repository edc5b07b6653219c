"""The pages of the local workspace, one module each."""
