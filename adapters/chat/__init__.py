"""Code shared by the chat platforms: their packages import it; it imports none of them."""
