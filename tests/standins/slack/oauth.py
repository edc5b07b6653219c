"""Installation: the page where a person allows the app, and tokens for codes and for refresh tokens."""

import time
from dataclasses import dataclass, field
from urllib.parse import urlencode

from aiohttp import web

from tests.standins.slack.state import Slack
from tests.standins.slack.teams import Team
from tests.standins.slack.values import Arguments, Json, Refused

EXPIRES_IN = 43_200
CODE_LIFETIME = 600


@dataclass(slots=True)
class Code:
    """A code that may be exchanged once."""

    team: Team
    user: str
    redirect_uri: str
    born: float
    is_used: bool = False


@dataclass(slots=True)
class OAuth:
    """Codes and refresh tokens. `team` and `user` are who installs next, `allows` whether they do."""

    slack: Slack
    team: Team | None = None
    user: str = "UINSTALLER"
    allows: bool = True
    _codes: dict[str, Code] = field(default_factory=dict)
    _refreshes: dict[str, Team] = field(default_factory=dict)

    async def authorize(self, request: web.Request) -> web.Response:
        """GET /oauth/v2/authorize: redirects as when the person has pressed Allow."""
        if request.query.get("client_id") != self.slack.client_id:
            return web.Response(status=400, text="invalid client_id")
        team = self._team(request.query.get("team", ""))
        redirect = request.query.get("redirect_uri", "") or self.slack.redirect_url
        if not redirect or team is None:
            return web.Response(status=400, text="bad_redirect_uri" if team else "no workspace to install into")
        query = {"state": request.query.get("state", "")}
        if self.allows:
            code = self.slack.new_id("code.")
            self._codes[code] = Code(team, self.user, request.query.get("redirect_uri", ""), time.monotonic())
            query["code"] = code
        else:
            query["error"] = "access_denied"
        location = f"{redirect}{'&' if '?' in redirect else '?'}{urlencode(query)}"
        return web.Response(status=302, headers={"Location": location})

    def access(self, given: Arguments) -> Json:
        """oauth.v2.access."""
        if given.text("client_id") != self.slack.client_id:
            raise Refused("invalid_client_id")
        if given.text("client_secret") != self.slack.client_secret:
            raise Refused("bad_client_secret")
        if given.text("grant_type") == "refresh_token":
            return self._refreshed(given.needs("refresh_token"))
        return self._exchanged(given)

    def _exchanged(self, given: Arguments) -> Json:
        code = self._codes.get(given.needs("code"))
        if code is None or time.monotonic() - code.born > CODE_LIFETIME:
            raise Refused("invalid_code")
        if code.is_used:
            raise Refused("code_already_used")
        if code.redirect_uri != given.text("redirect_uri"):
            raise Refused("bad_redirect_uri")
        code.is_used = True
        return {**self._tokens(code.team), "authed_user": {"id": code.user}}

    def _refreshed(self, refresh_token: str) -> Json:
        team = self._refreshes.pop(refresh_token, None)
        if team is None:
            raise Refused("invalid_refresh_token")
        return self._tokens(team)

    def _tokens(self, team: Team) -> Json:
        token = self.slack.new_id("xoxe.xoxb-1-" if self.slack.rotates_tokens else "xoxb-")
        team.install(token)
        answer: Json = {
            "ok": True,
            "app_id": self.slack.app_id,
            "access_token": token,
            "token_type": "bot",
            "scope": self.slack.scopes,
            "bot_user_id": team.bot_user,
            "team": {"id": team.id, "name": team.name},
            "enterprise": None,
            "is_enterprise_install": False,
        }
        if not self.slack.rotates_tokens:
            return answer
        refresh = self.slack.new_id("xoxe-1-")
        self._refreshes[refresh] = team
        return {**answer, "refresh_token": refresh, "expires_in": EXPIRES_IN}

    def _team(self, team_id: str) -> Team | None:
        if team_id:
            return self.slack.teams.get(team_id)
        waiting = [team for team in self.slack.teams.values() if not team.bot_token]
        return self.team or next(iter([*waiting, *self.slack.teams.values()]), None)
