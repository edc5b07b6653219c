"""The domain model: frozen dataclasses and their state transitions. No I/O, no third-party imports."""
