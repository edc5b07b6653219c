"""The vocabulary: frozen values and what may become of them. No I/O, no third-party imports."""
