"""What the chat platforms do alike: their folders import it, and it knows none of them."""
