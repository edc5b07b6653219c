"""Faults on real processes: `python -m tests.faults SEED SECONDS [PAUSE] [FOLDER]`."""
