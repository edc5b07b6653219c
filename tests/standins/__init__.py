"""Fake servers on this machine that speak a service's own protocol, for tests with the real SDKs."""
