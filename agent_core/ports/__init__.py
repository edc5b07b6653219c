"""Everything the core asks of the world, as Protocols: each docstring is the contract all implementations keep."""
