"""Cards, forms, buttons and their words as values. Each surface draws them, and adds what its layout requires."""
