"""Plugins that the operator installs."""
