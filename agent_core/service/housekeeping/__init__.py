"""What is removed or archived, and what processes note for each other: events, sign-outs, where files are."""
