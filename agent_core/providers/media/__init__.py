"""Images, transcription, speech and posts by external services."""
