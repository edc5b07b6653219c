"""How long tests wait for what will happen: only a test that fails waits this long, on however busy a machine."""

PATIENCE_SECONDS = 60.0
