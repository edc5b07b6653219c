"""The chat platforms: the settings of each, and how a process assembles it."""
