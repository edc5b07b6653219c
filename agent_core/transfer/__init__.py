"""Export of everything to one file, and its import into another database and folder."""
