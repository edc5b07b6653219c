"""What several features share: the clock, the egress gateway, confinement, bounded replies and processes."""
