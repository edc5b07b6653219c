"""Where people are: one folder for each surface, and the words and buttons they share."""
