"""The egress gateway: SSRF protection for every request to an address that a model chose."""
