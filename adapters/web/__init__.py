"""The local workspace: channels, threads and cards as a web page, with the same buttons as everywhere."""
