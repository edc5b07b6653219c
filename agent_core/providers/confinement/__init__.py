"""Programs that may do little: bubblewrap, limits, and what is left running."""
