"""Workspaces: files of agents in folders on disk, without following symlinks."""
