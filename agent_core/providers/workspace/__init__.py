"""Workspaces as folders on disk, opened without following links."""
