"""What somebody hostile would try, and what becomes of it: each test is a row of docs/reference/attacks.md."""
