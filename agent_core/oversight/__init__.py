"""The rules of asking: who may decide, what goes unasked, when a lease ends, what may be spent.

The rules are functions of values. Budgets, helpers and sites are also read and saved here, in a unit of work.
"""
