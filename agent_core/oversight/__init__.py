"""The rules of approval, as pure functions: who may decide, what runs without approval, when a lease ends."""
