"""Builds the parts that the settings choose: with `bot.bootstrap` and `bot.features`, what names concrete classes."""
