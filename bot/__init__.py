"""The process: settings, composition root and command line. `bot` imports every other package; none imports `bot`."""
