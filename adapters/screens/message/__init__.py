"""Messages as values: pieces in reading order, cut by `fit` to what a platform takes, then drawn by the platform."""
