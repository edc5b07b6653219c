"""Twenty decisions on the stand-ins of Slack and Discord, by the real SDKs. Chat clients scroll by themselves."""

from pathlib import Path
from typing import Literal

import discord

from adapters.slack.outbound.blocks import texts_in
from benchmarks.attention_work import AT_ONCE, COMMANDS, Costs, count_words, scripted
from tests.scenario import discord_app, slack_app
from tests.scenario.discord_app import Guild
from tests.scenario.member import GuildChat, labels_of, pressed
from tests.scenario.slack_app import Office
from tests.scenario.team import SlackChat
from tests.standins.slack.forms import labels
from tests.standins.slack.values import Json

ChatWay = Literal["one by one", "×5", "direct"]
MENU_AND_CONFIRMATION, MENU = 3, 2  # clicks: Slack asks before it approves several, Discord cannot


async def on_slack(folder: Path, way: ChatWay) -> Costs:
    """Create the agent and decide until twenty commands ran; count from its first proposal on."""
    costs = Costs()
    async with Office.opened() as office, slack_app.at_work(office, scripted(), folder) as running:
        await SlackChat(office, running, office.ana).new_agent("Clerk", "keeps our notes", "Write twenty notes")
        if way == "direct":
            await office.card(1)
            await office.ana.types("/agent", "notify me", office.general)
        for number in range(1, COMMANDS + 1, AT_ONCE if way == "×5" else 1):
            card = await _slack_card(office, number, way)
            costs.decisions += 1
            costs.words += count_words(" ".join(_texts_in_view(card["blocks"], is_menu_open=way == "×5")))
            costs.clicks += MENU_AND_CONFIRMATION if way == "×5" else 1
            await office.ana.clicks(card, f"Approve ×{AT_ONCE}" if way == "×5" else "Approve")
        await _slack_card(office, COMMANDS + 1, "one by one")
        costs.messages = sum("thread_ts" in each for each in office.general.messages) - 2  # the root, and the last card
        costs.notifications = len(office.team.direct(office.ana).messages)
    return costs


def _texts_in_view(blocks: list[Json], *, is_menu_open: bool) -> list[str]:
    """The texts of a card that are read: what menus and buttons hide counts only for an open menu *Approve ×N*."""
    texts: list[str] = []
    for block in blocks:
        for part in block["elements"] if block["type"] == "actions" else [block]:
            is_open = is_menu_open and part.get("action_id", "").endswith("approve_n")
            hidden = () if is_open else ("confirm", "options")
            texts += texts_in({name: value for name, value in part.items() if name not in hidden})
    return texts


async def _slack_card(office: Office, number: int, way: ChatWay) -> Json:
    """The card of a turn that can be approved, in the thread or in Ana's direct message."""
    there = office.team.direct(office.ana) if way == "direct" else office.general

    def found() -> list[Json]:
        asking = [each for each in there.messages if "Approve" in labels(each.get("blocks") or [])]
        return [each for each in asking if f"turn {number}" in slack_app.text_of(each["blocks"])]

    await office.slack.until(lambda: bool(found()))
    return found()[-1]


async def on_discord(folder: Path, way: ChatWay) -> Costs:
    """The same in Discord."""
    costs = Costs()
    async with Guild.opened() as guild, discord_app.at_work(guild, scripted(), folder) as running:
        ana = GuildChat(guild, running, guild.person("ana"))
        await ana.new_agent("Clerk", "keeps our notes", "Write twenty notes")
        if way == "direct":
            await guild.message("turn 1 ·")
            await ana.person.slash(guild.general, "agent notify", text="me")
        for number in range(1, COMMANDS + 1, AT_ONCE if way == "×5" else 1):
            card = await _discord_card(guild, ana, number, way)
            costs.decisions += 1
            costs.words += count_words(discord_app.text_of(card))
            costs.clicks += MENU if way == "×5" else 1
            by = ana.person.user if way == "direct" else ana.person
            await pressed(by, card, f"Approve ×{AT_ONCE}" if way == "×5" else "Approve")
        await guild.message(f"turn {COMMANDS + 1} ·")
        costs.messages = len(guild.said()) - 1  # without the card of the next turn
        costs.notifications = len(ana.person.user.dm_channel.history()) if way == "direct" else 0
    return costs


async def _discord_card(guild: Guild, ana: GuildChat, number: int, way: ChatWay) -> discord.Message:
    """The card of a turn that can be approved, in the thread or in Ana's direct message."""

    def found() -> list[discord.Message]:
        there = ana.person.user.dm_channel.history() if way == "direct" else guild.said()
        asking = [each for each in there if "Approve" in labels_of(each)]
        return [each for each in asking if f"turn {number}" in discord_app.text_of(each)]

    await guild.until(lambda: bool(found()))
    return found()[-1]
