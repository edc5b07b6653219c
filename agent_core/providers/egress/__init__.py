"""The egress gateway: SSRF protection for every request to a URL that a model chose."""
