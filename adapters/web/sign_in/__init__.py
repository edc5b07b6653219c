"""Sign-in on the page with accounts at a provider of the team, by OpenID Connect."""
