"""The page *Operations*: workers, stuck agents, old proposals, what was spent, and what Signoff paused. Read-only.

Whoever may open the page is an operator.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from aiohttp import web

from adapters.web.page_context import WebContext
from adapters.web.pages.amounts import Measure, amount_text
from agent_core.model.agent import Agent, Paused, Thinking
from agent_core.model.origin import ChannelScope
from agent_core.model.records.operations import Spent
from agent_core.service.reading.operations import DAYS, STUCK_AFTER

OPERATIONS = "/operations"
BAR_WIDTH, BAR_GAP, BAR_MOST = 16, 4, 100
LEAST = 2  # so that a day with little is seen
STATUSES = ("thinking", "acting", "awaiting", "paused", "stopped", "finished", "archived")


@dataclass(frozen=True, slots=True)
class Bar:
    """A day of the drawing, in its units. `text`: what was spent."""

    day: date
    text: str
    x: int
    height: int


@dataclass(frozen=True, slots=True)
class OperationsPage:
    """One handler."""

    workspace: WebContext

    def routes(self) -> list[web.RouteDef]:
        return [web.get(OPERATIONS, self.page)]

    async def page(self, request: web.Request) -> web.StreamResponse:
        report = await self.workspace.views.operations.report()
        spending = report.spending
        measure: Measure = "cost" if any(each.cost for each in spending.days) else "tokens"
        whole = sum((_value(each, measure) for each in spending.days), Decimal(0))
        today = next((each for each in spending.days if each.name == report.today), None)
        return await self.workspace.answer(
            request,
            "operations.html",
            report=report,
            counts=[(status, report.agents[status]) for status in STATUSES if status in report.agents],
            measure=measure,
            today=_text(today, measure),
            bars=bars_of(spending.days, date.fromisoformat(report.today), measure),
            most=_text(max(spending.days, key=lambda each: _value(each, measure), default=None), measure),
            whole=amount_text(whole, measure),
            by_channel=_rows(spending.channels, _channel_text, whole, measure),
            by_model=_rows(spending.models, str, whole, measure),
            why=_why,
            stuck_minutes=STUCK_AFTER // timedelta(minutes=1),
            bar_width=BAR_WIDTH,
            bar_most=BAR_MOST,
        )


def bars_of(days: Sequence[Spent], today: date, measure: Measure) -> tuple[Bar, ...]:
    """The last DAYS days, oldest first, each as a bar; () if nothing was spent."""
    values = {each.name: _value(each, measure) for each in days}
    most = max(values.values(), default=Decimal(0))
    if not most:
        return ()
    found = []
    for place in range(DAYS):
        day = today - timedelta(days=DAYS - 1 - place)
        value = values.get(day.isoformat(), Decimal(0))
        height = max(LEAST, round(value / most * BAR_MOST)) if value else 0
        found.append(Bar(day, amount_text(value, measure), place * (BAR_WIDTH + BAR_GAP), height))
    return tuple(found)


def _rows(
    listed: Sequence[Spent], say: Callable[[str], str], whole: Decimal, measure: Measure
) -> Sequence[tuple[str, str]]:
    """The rows of a table, which add up: the last is for what is not listed."""
    rows = [(say(each.name), _text(each, measure)) for each in listed]
    rest = whole - sum(_value(each, measure) for each in listed)
    return [*rows, ("others", amount_text(rest, measure))] if rest > 0 else rows


def _value(spent: Spent, measure: Measure) -> Decimal:
    return spent.cost if measure == "cost" else Decimal(spent.tokens)


def _text(spent: Spent | None, measure: Measure) -> str:
    return amount_text(_value(spent, measure) if spent else Decimal(0), measure)


def _channel_text(key: str) -> str:
    channel = ChannelScope.parse(key)
    return channel.channel if channel.surface == "web" else f"{channel.channel} ({channel.surface})"


def _why(agent: Agent) -> str:
    """Why the agent is where it is, as far as it is known."""
    match agent.status:
        case Paused(reason):
            return reason
        case Thinking(held_up=reason):
            return reason or "It thinks."
        case _:
            return "Its command runs."
