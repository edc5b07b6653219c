"""Builds the parts that the settings choose: what names concrete classes, with `bot.bootstrap` and `capabilities`."""
