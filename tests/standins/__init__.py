"""Servers that speak a service's own protocol on this machine, so that the real SDKs are exercised."""
