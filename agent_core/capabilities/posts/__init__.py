"""Posts on X."""
