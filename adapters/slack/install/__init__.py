"""Installation in a workspace by OAuth, and the encrypted tokens that result."""
