"""Discord's API: clients, refusals, other base addresses, and who people are."""
