"""Language models: OpenAI-compatible endpoints, a scripted model; tokenizers, prices, windows."""
