"""A Slack of one app on 127.0.0.1: Web API, events, interactions, Socket Mode and OAuth, with Slack's own limits."""
