"""The form for a new agent, filled in by a model from a sentence: what is kept, refused and charged."""

import html
import json
import re
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import pytest

from adapters.web.pages.drafting import FILLED_IN, NO_SENTENCE, NOTHING_TO_DRAFT
from agent_core.capabilities.demo.rehearsal import RehearsalModel
from agent_core.service.creating.drafting import NO_ANSWER, NOT_AFFORDABLE, NOT_IN_DEMO
from agent_core.testing.language_model import ScriptedModel
from tests.scenario.page import PageChat, text_of
from tests.scenario.served import served

SENTENCE = "research the best <b>tennis</b> strings"
TYPED = {"sentence": SENTENCE, "budget": "2.50", "free.read": "on", "approvers": "owner"}


def drafted(name: str, *goals: str) -> str:
    return json.dumps({"name": name, "role": "a patient researcher", "goals": goals})


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(cost=Decimal("0.02"))


@pytest.fixture
async def ana(model: ScriptedModel, tmp_path: Path) -> AsyncIterator[PageChat]:
    async with served(model, tmp_path) as base, PageChat.opened(base, "ana", "/c/web/local/general") as chat:
        yield chat


def filled(page: str) -> dict[str, str]:
    """The fields of the form as a browser would send them again."""
    inputs = re.findall(
        r'<input[^>]* name="([\w.]+)"(?: type="\w+")?[^>]* value="([^"]*)"',
        page.partition("<main")[2].partition("</main>")[0],
    )
    texts = re.findall(r'<textarea id="\w+" name="(\w+)"[^>]*>\n([^<]*)</textarea>', page)
    return {name: html.unescape(value) for name, value in (*inputs, *texts)}


@pytest.mark.proves("page:draft")
async def test_a_sentence_fills_in_the_form_and_the_rest_of_it_stays(ana: PageChat, model: ScriptedModel) -> None:
    model.say(drafted("String Scout", "Find five strings", "Compare <i>them</i>"))
    status, page = await ana.send("draft", TYPED)
    assert (status, FILLED_IN in page) == (200, True)
    fields = filled(page)
    assert fields["name"] == "String Scout"
    assert fields["goals"] == "Find five strings\nCompare <i>them</i>"
    assert (fields["sentence"], fields["budget"]) == (SENTENCE, "2.50")
    assert 'name="free.read" checked' in page
    assert '<option value="owner" selected>' in page


@pytest.mark.proves("page:draft")
async def test_what_a_person_typed_stays_and_only_the_rest_is_drafted(ana: PageChat, model: ScriptedModel) -> None:
    model.say(drafted("String Scout", "Find five strings"))
    _, page = await ana.send("draft", {**TYPED, "name": "Racket", "goals": "One\r\nTwo"})
    fields = filled(page)
    assert (fields["name"], fields["role"]) == ("Racket", "a patient researcher")
    assert fields["goals"].split() == ["One", "Two"]


async def test_a_second_draft_replaces_the_first_but_not_what_was_changed_in_it(
    ana: PageChat, model: ScriptedModel
) -> None:
    model.say(drafted("String Scout", "Find", "Compare"), drafted("Shoe Scout", "Look", "Tell"))
    _, first = await ana.send("draft", TYPED)
    sent = {**filled(first), "name": "Racket", "goals": "Find\r\nCompare", "sentence": "research shoes"}
    _, second = await ana.send("draft", sent)
    fields = filled(second)
    assert (fields["name"], fields["goals"], fields["sentence"]) == ("Racket", "Look\nTell", "research shoes")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"sentence": "  "}, NO_SENTENCE),
        ({"sentence": SENTENCE, "name": "a", "role": "b", "goals": "c"}, NOTHING_TO_DRAFT),
    ],
)
async def test_no_model_is_called_where_there_is_nothing_to_draft(
    ana: PageChat, model: ScriptedModel, typed: dict[str, str], said: str
) -> None:
    status, page = await ana.send("draft", {**TYPED, **typed})
    assert (status, text_of(page).count(said), model.prompts) == (422, 1, [])


@pytest.mark.parametrize("answer", ["I would rather not.", '{"name": "x", "role": "y", "goals": []}'])
async def test_an_answer_that_is_no_draft_leaves_the_form_as_it_was(
    ana: PageChat, model: ScriptedModel, answer: str
) -> None:
    model.say(answer)
    status, page = await ana.send("draft", {**TYPED, "role": "mine"})
    assert (status, text_of(page).count(NO_ANSWER)) == (422, 1)
    fields = filled(page)
    assert (fields["sentence"], fields["role"], fields["goals"]) == (SENTENCE, "mine", "")


@pytest.mark.slow
async def test_the_channel_pays_and_refuses_a_draft_that_it_cannot_pay(ana: PageChat, model: ScriptedModel) -> None:
    model.say(drafted("String Scout", "Find five strings"))
    await ana.send("draft", TYPED)
    assert "$0.020 spent" in text_of(await ana.page())
    await ana.send("budget", {"budget": "0.03"})
    status, page = await ana.send("draft", TYPED)
    assert (status, text_of(page).count(NOT_AFFORDABLE), len(model.prompts)) == (422, 1, 1)


async def test_demo_mode_says_that_it_drafts_nothing(tmp_path: Path) -> None:
    async with served(RehearsalModel(), tmp_path) as base, PageChat.opened(base, "ana", "/c/web/local/general") as ana:
        async with ana.session.get(f"{base}/c/web/local/general/new") as form:
            assert 'name="sentence"' not in await form.text()
        status, page = await ana.send("draft", TYPED)
    assert (status, text_of(page).count(NOT_IN_DEMO)) == (422, 1)
    assert filled(page)["sentence"] == SENTENCE


async def test_a_channel_of_another_surface_drafts_nothing_here(ana: PageChat, model: ScriptedModel) -> None:
    ana.path = "/c/slack/T1/C1"
    status, _ = await ana.send("draft", TYPED)
    assert (status, model.prompts) == (403, [])
