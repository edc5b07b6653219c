"""A command of one's own, with a preview that people see before they decide."""
