"""The service layer: everything a person can do or look at, one method each, for every surface."""
