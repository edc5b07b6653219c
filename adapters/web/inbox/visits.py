"""Since when a browser was away from the page: a cookie with the times of its visits, which decides nothing else."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from aiohttp import web

COOKIE, MAX_AGE = "signoff_visit", timedelta(days=30)
AWAY = timedelta(minutes=30)  # after so long without the page, the next look at it is another visit
NEVER_HERE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Visit:
    """`since`: the end of the visit before this one; `now`: the time of this look."""

    since: datetime
    now: datetime

    @classmethod
    def of(cls, request: web.Request, now: datetime) -> "Visit":
        """The visit to which this request belongs; a new browser was away for a day."""
        try:
            since, last = (datetime.fromtimestamp(int(each), UTC) for each in request.cookies[COOKIE].split("."))
        except (KeyError, ValueError, OverflowError, OSError):
            since = last = now - NEVER_HERE
        return cls(last if now - last > AWAY else since, now)

    def remember(self, response: web.StreamResponse, *, secure: bool) -> None:
        times = f"{int(self.since.timestamp())}.{int(self.now.timestamp())}"
        age = int(MAX_AGE.total_seconds())
        response.set_cookie(COOKIE, times, max_age=age, httponly=True, samesite="Strict", path="/", secure=secure)
