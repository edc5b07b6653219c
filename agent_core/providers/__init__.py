"""Implementations of the ports: clock, models, embedders, indexes, web access, sandbox, files, media."""
