"""The pages offer a person what the service accepts from them, and say who decides where it is not theirs."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.page import PageChat, text_of
from tests.scenario.served import served

CHANNEL = "/c/web/local/general"
DECIDERS = "Decisions here: @ana"


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(writing("a.txt", "one"), waits=True)


@pytest.fixture
async def base(model: ScriptedModel, tmp_path: Path) -> AsyncIterator[str]:
    async with served(model, tmp_path) as address:
        yield address


@pytest.fixture
async def ana(base: str) -> AsyncIterator[PageChat]:
    """Ana with an agent for which only she decides."""
    async with PageChat.opened(base, "ana") as chat:
        fields = {"name": "Own", "goals": "x", "approvers": "owner"}
        async with chat.session.post(f"{base}{CHANNEL}/new", data=fields) as made:
            chat.path = made.url.path
        await chat.asks("write_to_file")
        yield chat


@pytest.fixture
async def ben(base: str, ana: PageChat) -> AsyncIterator[PageChat]:
    async with PageChat.opened(base, "ben", ana.path) as chat:
        yield chat


def verbs(page: str) -> set[str]:
    """What the buttons of a page do."""
    return set(re.findall(r'name="button" value="([a-z ]+):', page))


def forms(page: str) -> set[str]:
    """Where the forms of a thread's page lead to."""
    return set(re.findall(r'method="post" (?:hx-boost="true" )?action="/c/[^"]+/a/[^/"]+/([^"]+)"', page))


@pytest.mark.proves("page:rights")
async def test_a_card_offers_stop_alone_to_who_may_not_decide_and_says_who_does(ana: PageChat, ben: PageChat) -> None:
    hers, his = await ana.page(), await ben.page()
    assert verbs(hers) == {"approve", "edit", "reject", "review", "stop"}
    assert verbs(his) == {"stop"}
    assert (DECIDERS in text_of(hers), text_of(his).count(DECIDERS)) == (False, 1)
    assert "popover class" not in his.partition('id="thread"')[2].partition('id="present"')[0]


@pytest.mark.slow
@pytest.mark.proves("page:rights")
async def test_who_may_not_decide_can_reply_and_stop_and_changes_nothing(ana: PageChat, ben: PageChat) -> None:
    assert forms(await ben.page()) == {"press", "say"}
    assert forms(await ana.page()) == {"press", "say", "goals", "model", "budget", "add-file", "delete"}
    assert "rejects this step" not in await ben.page()
    await ben.says("I would rather not")
    assert "kept for the next turn" in text_of(await ben.page())
    await ben.stops()
    assert await ben.sees("stopped by @ben")
    stopped = await ben.page()
    assert (verbs(stopped), text_of(stopped).count(DECIDERS)) == (set(), 1)
    assert verbs(await ana.page()) == {"resume"}
    assert forms(stopped) == {"say"}


@pytest.mark.slow
@pytest.mark.proves("page:rights")
async def test_what_an_agent_remembers_is_changed_by_who_may_decide_alone(ana: PageChat, ben: PageChat) -> None:
    assert "memory/add" in "".join(forms(await ana.page("/memory")))
    his = await ben.page("/memory")
    assert (forms(his), text_of(his).count(DECIDERS)) == ({"memory/search"}, 1)


@pytest.mark.slow
@pytest.mark.proves("page:rights")
async def test_the_click_is_refused_whatever_the_page_had_offered(ana: PageChat, ben: PageChat) -> None:
    await ana.send("policy", {"shown.approvers": "owner", "shown.verbosity": "full", "approvers": "anyone"})
    card = await ben.asks("write_to_file")
    await ana.send("policy", {"shown.approvers": "anyone", "shown.verbosity": "full", "approvers": "owner"})
    status, page = await ben.send("press", {"button": card.button("approve")})
    assert (status, "you may not approve here: only @ana decides" in page) == (403, True)


@pytest.mark.slow
@pytest.mark.proves("page:rights")
async def test_archive_stands_in_the_list_for_who_may_decide_alone(ana: PageChat, ben: PageChat) -> None:
    await ana.stops()
    assert await ana.sees("stopped by @ana")
    async with ana.session.get(f"{ana.base}{CHANNEL}") as hers, ben.session.get(f"{ana.base}{CHANNEL}") as his:
        assert ("archive" in forms(await hers.text()), "archive" in forms(await his.text())) == (True, False)
