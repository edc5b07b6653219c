"""Image generation, transcription, speech and posts on X by external services."""
