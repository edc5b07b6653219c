"""Budgets: what calls to models may cost, what they cost, and which agent of a family pays."""
