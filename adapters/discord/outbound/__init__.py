"""What Discord is sent: messages, cards and forms, within Discord's limits."""
