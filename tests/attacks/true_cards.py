"""Reads an open card as Slack, Discord and the page draw it: whether it is true, whatever a text in it says.

Of what is drawn, `own` are Signoff's words; a `cell` is a box, code or a quotation; `said` is the agent's paragraph.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from html import unescape
from typing import Any, cast

from adapters.discord.outbound.posted import NOBODY
from adapters.screens.cards import turn_card
from adapters.screens.message.card_titles import title_of
from adapters.screens.ui_text import CUT_TO_FIT
from adapters.web.render import _environment
from agent_core.model.agent import Agent
from agent_core.model.turn import Turn
from tests import discord_messages, slack_messages

UNSEEN = {"Cc", "Cf", "Zl", "Zp", "Co", "Cs", "Cn"}
THOUGHTS = ("Plan: ", "Reasoning: ", "Criticism: ", "Speak: ")  # the labels are Signoff's, the rest of the line is not
LOUD = {"user", "usergroup", "broadcast", "link", "channel", "team", "emoji", "mrkdwn", "image"}
ACTIVE = re.compile(r"(?<!\\)(<[@#:/!a-z]|@everyone|@here|\]\(|\|\||:\w+:)|https?://")
TAGS = set(re.findall(r"\S+", """div p pre code span dl dt dd em ul li b bdi q svg use href details summary section h3
    class dir tabindex aria-label aria-labelledby aria-hidden id
    data-old data-new data-text role ins del"""))  # fmt: skip


def unmarked(text: str) -> str:
    return re.sub(r"⟨U\+([0-9A-F]{4,6})⟩", lambda mark: chr(int(mark[1], 16)), text)


def dense(text: str) -> str:
    return "".join(unmarked(text).split())


def in_slack(part: object, around: str = "") -> Iterator[tuple[str, str]]:
    """The texts of blocks, of which no element mentions, links or formats."""
    if isinstance(part, dict):
        kind = part.get("type", around)
        assert kind not in LOUD
        if kind in ("text", "plain_text"):
            is_cell = around in ("rich_text_preformatted", "rich_text_quote") or "code" in part.get("style", ())
            yield ("cell" if is_cell else "said" if around == "section" else "own"), part["text"]
        else:
            yield from (found for value in part.values() for found in in_slack(value, kind))
    elif isinstance(part, list):
        yield from (found for value in part for found in in_slack(value, around))


def in_discord(message: Any) -> Iterator[tuple[str, str]]:
    """The lines of components by Discord's markdown, of which nothing is active outside of boxes and code."""
    for content in re.findall(r'"content": ("(?:[^"\\]|\\.)*")', json.dumps(message.view.to_components())):
        is_boxed = False
        for line in json.loads(content).split("\n"):
            is_boxed = is_boxed != line.startswith("```")
            outside = "" if is_boxed else re.sub(r"(?<!\\)`[^`]*`", "", line)
            assert not ACTIVE.search(outside), line
            yield from (("cell", code) for code in ([line] if is_boxed else re.findall(r"(?<!\\)`([^`]*)`", line)))
            yield ("cell" if line.startswith("> ") else "own"), re.sub(r"\\(.)", r"\1", outside).removeprefix("-# ")
        assert not is_boxed, content


def on_page(agent: Agent, turn: Turn) -> list[str]:
    """The arguments on the page's card, which has tags and attributes of Signoff alone."""
    card, macros = turn_card(agent, turn), cast("Any", _environment().get_template("_card.html").make_module({}))
    said = f"{macros.says(agent, card)}{macros.quiet_line(agent, card, 'why')}{macros.named(title_of(turn))}"
    shown = str(macros.command(card, True))  # the quiet line has those again that the preview stands for
    html = f"{shown}{said}{macros.review(card, 'review')}"
    tags = re.findall(r"<([^<>]*)>", html)
    names = {name for tag in tags for name in re.findall(r"^/?(\w+)|\s([\w-]+)=\"", tag)}
    assert html.count("<") == len(tags)
    assert {part for name in names for part in name if part} <= TAGS
    return [unescape(value) for value in re.findall(r"<dd><(?:pre|code)[^>]*>\n?([^<]*)</", shown)]


def claims_of(text: str) -> tuple[str, ...]:
    """What the text would have stand on the card as a line, or as a part of one."""
    parts = {each.strip(" >*#`|-✓○").casefold() for each in re.split(r"[\n\r\u2028]| · ", text)}
    return tuple(part for part in parts if len(part) > 5)


def assert_true_card(agent: Agent, turn: Turn, text: str) -> None:
    """The open card has the command with each argument, hides nothing, calls nobody, and says nothing of the text."""
    card, slack = turn_card(agent, turn), slack_messages.turn_message(agent, turn).arguments
    values = turn.call.arguments.values()
    given = [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1) for value in values]
    assert (card.command, card.standing, card.buttons[0].verb) == (turn.call.name, "needs approval", "approve")
    for shown in ([each.text for each in card.arguments], on_page(agent, turn)):
        assert [*map(unmarked, shown)] == [*map(unmarked, given)]
    assert (re.search(r"[<>\n]", str(slack["text"])), NOBODY.to_dict()["parse"]) == (None, [])
    for drawn in ([*in_slack(slack["blocks"])], [*in_discord(discord_messages.turn_message(agent, turn))]):
        texts = "\n".join(shown for _, shown in drawn)
        assert not {each for each in texts if unicodedata.category(each) in UNSEEN} - {"\n", "\t"}
        lines = (line for kind, shown in drawn if kind == "own" for line in shown.split("\n"))
        own = [part.strip(" ○✓✗●–⚠▶") for each in lines if not each.startswith(THOUGHTS) for part in each.split(" · ")]
        assert not [part for part in own if part.casefold().startswith(claims_of(text))]
        found = [dense(re.sub(start, "", texts, flags=re.MULTILINE)) for start in ("^> ", "^(> )?[+]")]
        assert CUT_TO_FIT in texts or all(any(dense(value) in each for each in found) for value in given)
