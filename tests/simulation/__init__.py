"""The whole system on one seeded scheduler: time is simulated, processes die, answers get lost, people click."""
