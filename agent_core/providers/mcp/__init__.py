"""Tool servers by the Model Context Protocol. The SDK is imported where a server is connected, since it takes 0.9 s."""
