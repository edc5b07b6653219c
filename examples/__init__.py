"""Small programs to start from, one folder for each idea: `python -m examples.scripted_agent`."""
