"""The surfaces (one package each), and the texts and buttons that all surfaces share."""
