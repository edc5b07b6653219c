"""Language models: OpenAI-compatible endpoints, a local file, the rehearsal; token counts, context windows, prices."""
