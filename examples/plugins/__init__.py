"""Two plugins: a word counter of ten lines, and one that reaches the network through the egress gateway."""
