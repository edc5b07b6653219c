"""The rules of asking: who may decide, what goes unasked, when a lease ends, what may be spent. Pure functions."""
