"""The files of agents, in a folder or a bucket."""
