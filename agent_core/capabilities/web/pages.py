"""Commands that read web pages: their text, a model's answer from their parts, their links."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from pydantic import BaseModel, Field

from agent_core.errors import CommandError, OverBudget
from agent_core.model.channel_settings import SITES_KEY, Sites, parse_sites
from agent_core.model.command import Preview
from agent_core.model.model_calls import Message, Reply
from agent_core.ports.database import Database
from agent_core.ports.web import ContactedHost as HostAddress
from agent_core.ports.web import Link, Page, Web
from agent_core.prompt.model_client import MeteredModel, ModelRequest
from agent_core.prompt.packing import TOKENS_PER_PROMPT
from agent_core.prompt.untrusted_text import merge_messages, part_messages, split_by_tokens
from agent_core.toolset.registry import Command, CommandContext, declare

MAX_URL_CHARACTERS = 2_000
MAX_UNSUMMARISED_CHARACTERS = 6_000  # a shorter text is cheaper to return than to summarise
MAX_PARTS, MAX_PART_TOKENS, MIN_PART_TOKENS = 8, 6_000, 100
MAX_REPLY_TOKENS = 1_500  # including the reasoning of models that reason
MAX_LINKS_WITH_TEXT, MAX_LINKS, MAX_HOSTS = 15, 100, 10
URL_ALIASES = {
    **dict.fromkeys(("link", "website", "website_url", "web_page", "webpage", "page", "page_url", "address"), "url"),
    **dict.fromkeys(("uri", "site", "href"), "url"),
}
QUESTION_ALIASES = {**URL_ALIASES, **dict.fromkeys(("query", "q", "information", "what", "goal"), "question")}
BROWSE_SYNONYMS = (
    *("browse", "browse_web", "browse_page", "open_website", "open_url", "open_page", "visit_website", "visit_url"),
    *("read_website", "read_webpage", "read_url", "fetch_url", "fetch_page", "scrape", "scrape_website", "scrape_url"),
)
SUMMARY_SYNONYMS = (
    *("summarize_website", "summarize_url", "summarize_page"),
    *("scrape_text", "get_text", "website_summary"),
)
HYPERLINK_SYNONYMS = ("scrape_links", "get_links", "extract_links", "extract_hyperlinks", "list_links")


class UrlArguments(BaseModel):
    """A page."""

    url: str = Field(description="address with https://", min_length=1, max_length=MAX_URL_CHARACTERS)


class UrlAndQuestion(UrlArguments):
    """A page, and what is wanted from it."""

    question: str = Field(description="what you want to know", min_length=1, max_length=1_000)


@dataclass(slots=True)
class PageNotes:
    """A model's notes on the parts of a page. `whole`: the number of parts.

    `remark`: why some parts were not read; "" if all were.
    """

    whole: int
    texts: list[str] = field(default_factory=list)
    remark: str = ""


@dataclass(frozen=True, slots=True)
class PageCommands:
    """Commands that read web pages. Their results are untrusted content."""

    web: Web
    metered_model: MeteredModel
    database: Database

    async def browse_website(self, given: UrlAndQuestion, context: CommandContext) -> str:
        """Read a web page; a long one as far as it answers the question."""
        page = await self._page(given, context)
        text = await self._answer_from(page, given.question, context)
        return "\n\n".join((_heading(page), text, _links(page.links, MAX_LINKS_WITH_TEXT)))

    async def get_text_summary(self, given: UrlAndQuestion, context: CommandContext) -> str:
        """Read what a web page says on the question."""
        page = await self._page(given, context)
        return "\n\n".join((_heading(page), await self._answer_from(page, given.question, context)))

    async def get_hyperlinks(self, given: UrlArguments, context: CommandContext) -> str:
        """List the links of a web page."""
        page = await self._page(given, context)
        return "\n\n".join((_heading(page), _links(page.links, MAX_LINKS)))

    async def preview(self, given: UrlArguments, context: CommandContext) -> Preview:
        """The host in the address; an address that is not allowed is rejected before people are asked."""
        return Preview(title=self.web.host_of(given.url, await load_sites(self.database, context)), body="")

    @property
    def commands(self) -> tuple[Command, ...]:
        read = partial(declare, preview=self.preview, risks=("network",), category="web", outside=True)
        ask = partial(read, UrlAndQuestion, aliases=QUESTION_ALIASES, asks_models=True)
        return (
            ask(self.browse_website, label="Read a page", synonyms=BROWSE_SYNONYMS),
            ask(self.get_text_summary, label="Summarise a page", synonyms=SUMMARY_SYNONYMS),
            read(
                UrlArguments, self.get_hyperlinks, label="List links", synonyms=HYPERLINK_SYNONYMS, aliases=URL_ALIASES
            ),
        )

    async def _page(self, given: UrlArguments, context: CommandContext) -> Page:
        return await self.web.page(given.url, await load_sites(self.database, context))

    async def _answer_from(self, page: Page, question: str, context: CommandContext) -> str:
        """The page's text if it is short; else the model's notes on the question from each part, merged if possible."""
        if len(page.text) <= MAX_UNSUMMARISED_CHARACTERS:
            return page.text or "The page holds no text."
        limit, count = self._part_limit(question, context)
        parts = split_by_tokens(page.text, limit, count)
        notes = PageNotes(whole=len(parts))
        if len(parts) > MAX_PARTS:
            notes.remark = f"Only the first {MAX_PARTS} of {len(parts)} parts of the page were read."
        await self._take(notes, parts[:MAX_PARTS], question, context)
        if not notes.texts:
            return f"{page.text[:MAX_UNSUMMARISED_CHARACTERS]}\n\n({notes.remark} This is the beginning as it is.)"
        several = "\n\n".join(notes.texts)
        if len(notes.texts) > 1 and count(several) < limit:
            several = await self._merge(notes, question, context) or several
        return f"{several}\n\n({notes.remark or 'The whole page was read.'})"

    async def _take(self, notes: PageNotes, parts: Sequence[str], question: str, context: CommandContext) -> None:
        """Ask the model for a note on each part, until the budget is spent."""
        for number, part in enumerate(parts, 1):
            prompt = part_messages(question, part, number, notes.whole)
            try:
                reply = await self.metered_model.ask(
                    ModelRequest(kind="summary", prompt=prompt), context.agent.choice, context.tracker
                )
            except OverBudget:
                notes.remark = (
                    f"The budget ended the reading: {number - 1} of {notes.whole} parts of the page were read."
                )
                return
            notes.texts += filter(None, [reply.answer])
            context.report(f"{number} of {len(parts)} parts read")

    async def _merge(self, notes: PageNotes, question: str, context: CommandContext) -> str:
        try:
            return (await self._ask_model(merge_messages(question, notes.texts), context)).answer
        except OverBudget:
            return ""

    async def _ask_model(self, prompt: Sequence[Message], context: CommandContext) -> Reply:
        question = ModelRequest(kind="summary", prompt=prompt, max_tokens=MAX_REPLY_TOKENS)
        return await self.metered_model.ask(question, context.agent.choice, context.tracker)

    def _part_limit(self, question: str, context: CommandContext) -> tuple[int, Callable[[str], int]]:
        """The most tokens of one part, and the token counter."""
        room = self.metered_model.in_use(context.agent.model, "summary").room
        limit = min(MAX_PART_TOKENS, room.tokens - TOKENS_PER_PROMPT - room.taken_by(part_messages(question, "")))
        if limit < MIN_PART_TOKENS:
            raise CommandError(
                "The model's window is too small to read a page of this length with. Try get_hyperlinks."
            )
        return limit, room.count


async def load_sites(database: Database, context: CommandContext) -> Sites:
    """Load which sites the agents of this channel may reach."""
    async with database.begin() as work:
        return parse_sites(await work.preferences.get(context.agent.channel, SITES_KEY))


def reached_hosts_text(hosts: Sequence[HostAddress]) -> str:
    """One line with the requested hosts and their IP addresses; "" if no host was requested by name."""
    named = [f"{each.host} → {each.ip}" for each in hosts if each.host != each.ip]
    more = f", and {len(named) - MAX_HOSTS:,} more" if len(named) > MAX_HOSTS else ""
    return f"Asked: {', '.join(named[:MAX_HOSTS])}{more}" if named else ""


def _heading(page: Page) -> str:
    parts = (" ".join(page.title.split()), page.url, reached_hosts_text(page.hosts), page.remark)
    return "\n".join(filter(None, parts))


def _links(links: Sequence[Link], limit: int) -> str:
    if not links:
        return "It has no links."
    lines = [f"{number}. {link.text or '(no text)'}: {link.url}" for number, link in enumerate(links[:limit], 1)]
    more = f" (the first {limit} of {len(links)})" if len(links) > limit else ""
    return "\n".join((f"Links{more}:", *lines))
