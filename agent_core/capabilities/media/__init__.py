"""Pictures, speech, transcripts, and looking at pictures."""
