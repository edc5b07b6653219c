"""The inbound port: one method for each thing a person can do or look at, on any surface."""
