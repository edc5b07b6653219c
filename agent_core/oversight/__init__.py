"""The rules of approval: decisions, free classes, leases, untrusted content, repetition, and secrets to hide."""
