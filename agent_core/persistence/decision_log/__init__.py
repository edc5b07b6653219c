"""The decision log: a hash chain of records for each channel."""
