"""What Signoff promises about speed and cost, measured. Nothing here is shipped, and no test waits for it."""
