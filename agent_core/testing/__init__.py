"""Doubles that keep the ports' contracts, and example values: for our tests and for those of plugin authors."""
