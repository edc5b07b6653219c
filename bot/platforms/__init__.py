"""The chat platforms: what each needs from the operator, and how a process puts it together."""
