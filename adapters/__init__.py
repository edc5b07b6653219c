"""The surfaces (one package each), and what they share: `screens`, `typed` and, for chat platforms, `chat`."""
