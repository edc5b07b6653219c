"""Language models: OpenAI-compatible endpoints, local model files, a scripted model; tokenizers, prices, windows."""
