"""Pages, the headless browser, git clones and web search."""
