"""How Slack and Discord show the decision log, and a reply of the model that could not be used."""

from dataclasses import replace
from typing import Any

import pytest

from adapters.discord.outbound import answer_messages as discord_log
from adapters.discord.outbound import message as discord_message
from adapters.screens.decision_log import NEWEST_ROWS, time_text
from adapters.screens.text_fit import units
from adapters.slack.inbound.submitted_forms import FormContext
from adapters.slack.outbound.blocks import MAX_MESSAGE_TEXT, MAX_VIEW_BLOCKS
from adapters.slack.outbound.message import card_link
from adapters.slack.outbound.views import reply_view
from adapters.typed.answers import Answer, Attachment
from agent_core.model.note import Notice
from agent_core.model.origin import ChannelScope
from agent_core.model.records.audit import AuditEntry
from agent_core.service.reading.decision_log import LogRow
from agent_core.testing.examples import ANA, NOON, a_notice, a_turn, an_agent
from tests import discord_messages as discord_render
from tests import slack_messages as slack_render

SLACK, DISCORD = ChannelScope("slack", "T1", "C1"), ChannelScope("discord", "1", "2")
FILES = (Attachment("decision-log.jsonl", b"{}\n", is_readable=False), Attachment("decision-log.csv", b"a", False))
HEAD = "Decision log of Ada, newest first:"
HOSTILE = "<!channel> *bold* @everyone [x](https://evil.example) \u202e" + "tea " * 300
LONG = "\n".join(f"{number} <@U1> `code` \u202e" for number in range(9_000)) + "\nthe end"


def rows(channel: ChannelScope, card: str, detail: str = "no") -> tuple[LogRow, ...]:
    agent = an_agent(channel=channel, name="Ada" if detail == "no" else HOSTILE)
    entry = AuditEntry.on(agent, "reject", by=ANA, at=NOON, detail=detail, turn=a_turn(agent))
    return (LogRow(entry, card),) * NEWEST_ROWS


def elements(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [found for each in value for found in elements(each)]
    if isinstance(value, dict):
        return [value, *(found for each in value.values() for found in elements(each))]
    return []


def notice(reply: str) -> Notice:
    return a_notice(an_agent(), reply=reply)


def test_a_row_in_slack_links_to_its_card_and_the_files_are_not_among_the_text() -> None:
    message = slack_render.answer_message(Answer(HEAD, files=FILES, log=rows(SLACK, "1.5/2.25")))
    links = [each["url"] for each in elements(message.blocks) if each.get("type") == "link"]
    assert links == ["https://slack.com/archives/C1/p225?thread_ts=1.5&cid=C1"] * NEWEST_ROWS
    assert "{}" not in str(message.blocks)


def test_a_row_says_when_in_the_time_of_its_reader() -> None:
    slack = slack_render.answer_message(Answer(HEAD, log=rows(SLACK, "")))
    date = {
        "type": "date",
        "timestamp": int(NOON.timestamp()),
        "format": "{date_short_pretty} {time}",
        "fallback": time_text(NOON),
    }
    assert [each for each in elements(slack.blocks) if each.get("type") == "date"] == [date] * NEWEST_ROWS
    assert time_text(NOON) not in "".join(str(each.get("text")) for each in elements(slack.blocks))
    discord = str(shown(discord_render.answer_message(Answer(HEAD, log=rows(DISCORD, "33/44")))))
    assert discord.count(f"• <t:{NOON.timestamp():.0f}:f> · Ada · ") == NEWEST_ROWS
    assert time_text(NOON) not in discord


def test_a_row_whose_card_is_gone_has_no_link() -> None:
    assert card_link(SLACK, "") == discord_message.card_link(DISCORD, "") == ""
    message = slack_render.answer_message(Answer(HEAD, log=rows(SLACK, "")))
    assert [each for each in elements(message.blocks) if each.get("type") == "link"] == []


def test_rows_of_hostile_words_stay_text_and_fit_in_slack() -> None:
    message = slack_render.answer_message(Answer(HEAD, log=rows(SLACK, "1.5/2.25", HOSTILE)))
    kinds = {each["type"] for each in elements(message.blocks) if "type" in each}
    assert kinds == {"rich_text", "rich_text_section", "text", "link", "date"}
    texts = [each["text"] for each in elements(message.blocks) if each.get("type") == "text"]
    assert units("".join(texts)) < MAX_MESSAGE_TEXT
    assert "\u202e" not in "".join(texts)
    assert "<!channel>" not in message.text


def test_a_row_in_discord_links_to_its_card_and_both_files_are_attached() -> None:
    message = discord_render.answer_message(Answer(HEAD, files=FILES, log=rows(DISCORD, "33/44")))
    text = "\n".join(str(each["content"]) for each in shown(message) if "content" in each)
    assert text.count("[card](https://discord.com/channels/1/33/44)") == NEWEST_ROWS
    assert [file.name for file in message.files] == ["decision-log.jsonl", "decision-log.csv"]


def test_rows_of_hostile_words_stay_text_and_fit_in_discord() -> None:
    message = discord_render.answer_message(Answer(HEAD, files=FILES, log=rows(DISCORD, "33/44", HOSTILE)))
    text = "".join(str(each["content"]) for each in shown(message) if "content" in each)
    assert units(text) <= 4000
    assert "](https://evil" not in text.replace("\\[", "").replace("\\]", "")
    assert "\\@everyone" in text or "@everyone" not in text


def test_a_log_that_is_too_large_for_discord_says_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discord_log, "MAX_FILE_BYTES", 3)
    message = discord_render.answer_message(Answer(HEAD, files=FILES, log=rows(DISCORD, "33/44")))
    assert message.files == ()
    assert "from the local workspace" in str(shown(message))


@pytest.mark.slow
def test_a_reply_in_slack_is_whole_over_all_parts_and_nothing_in_it_formats() -> None:
    said, part, parts = "", 1, 99
    while part <= parts:
        view = reply_view(notice(LONG), FormContext("slack/T1/C1"), part)
        assert view["title"]["text"] == "The model's reply"
        assert len(view["blocks"]) <= MAX_VIEW_BLOCKS
        parts = int(view["blocks"][0]["elements"][0]["text"].rpartition(" of ")[2])
        boxes = [each for each in elements(view["blocks"]) if each.get("type") == "rich_text_preformatted"]
        said += "".join(run["text"] for box in boxes for run in box["elements"])
        part += 1
    assert parts > 1
    assert said == LONG.replace("\u202e", "⟨U+202E⟩")


@pytest.mark.slow
def test_a_short_reply_in_discord_is_a_quotation_and_a_long_one_a_file() -> None:
    short = discord_render.reply_message(notice("# Sure!\n@everyone"))
    assert "**The model's reply**\n> \\# Sure!\n> \\@everyone" in [each.get("content") for each in shown(short)]
    long = discord_render.reply_message(notice(LONG))
    assert long.files[0].data.decode().endswith("the end\n")
    assert "\u202e" not in long.files[0].data.decode()


def test_only_a_notice_with_a_reply_offers_it() -> None:
    agent = an_agent()
    for with_reply in (True, False):
        told = replace(notice("Sure!"), reply="Sure!" if with_reply else "")
        assert ("Show reply" in str(slack_render.notice_message(agent, told).blocks)) is with_reply
        assert ("Show reply" in str(shown(discord_render.notice_message(agent, told)))) is with_reply


def shown(message: Any) -> list[dict[str, Any]]:
    return elements(message.view.to_components())
