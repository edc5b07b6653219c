"""The process: settings, composition, command line. It knows everyone; nobody knows it."""
