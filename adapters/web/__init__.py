"""The local workspace: channels, threads and cards as web pages, with the same buttons as the other surfaces."""
