"""What agents can do: a folder for each feature, with its settings, its commands and what provides them."""
