"""The outside world behind the ports: time, files, language models and what they cost."""
