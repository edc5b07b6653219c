"""Pages, searches, downloads and clones, through the gateway."""
