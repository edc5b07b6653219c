"""Discord's API: client, error codes, base addresses and the member directory."""
