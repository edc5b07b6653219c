"""Web pages, headless browser, git clones and web search."""
