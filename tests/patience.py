"""How long tests wait for a condition. Only a failing test waits this long, also on a busy machine."""

PATIENCE_SECONDS = 60.0
