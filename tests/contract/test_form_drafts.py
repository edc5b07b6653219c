"""Forms that a button opens again, on every database."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from agent_core.errors import Conflict, InvalidInput
from agent_core.model import draft
from agent_core.model.decision import Policy
from agent_core.model.draft import (
    FORM_LIFETIME,
    MAX_FORM_CHARACTERS,
    MAX_FORMS,
    MAX_FORMS_OF_PERSON,
    AgentDraft,
    FormDraft,
)
from agent_core.model.origin import ChannelScope
from agent_core.ports.database import Database
from agent_core.testing.examples import ANA, BEN, CHANNEL, NOON, an_agent, keep

STRANGE = "'Ümläut' \\0000 \x00 \ud800 🦆"
FORM = FormDraft(channel=CHANNEL, person=ANA.id, key="k", expires_at=NOON + FORM_LIFETIME, fields={"name": "Ada"})
ELSEWHERE = ChannelScope("web", "local", "other")


async def put(database: Database, *forms: FormDraft) -> None:
    async with database.begin() as work:
        for form in forms:
            work.form_drafts.put(form)
        await work.commit()


async def found(database: Database, form: FormDraft = FORM, after: timedelta = timedelta(0)) -> FormDraft | None:
    async with database.begin() as work:
        return await work.form_drafts.get(form.channel, form.person, form.key, NOON + after)


async def test_a_form_comes_back_as_it_was(database: Database) -> None:
    draft = AgentDraft(name=STRANGE, goals=("a\nb", ""), budget=Decimal("0.10"), policy=Policy(free=("write",)))
    drafted = replace(FORM, key=STRANGE, fields={}, agent_draft=draft)
    refused = replace(FORM, fields={STRANGE: STRANGE, "goals": ""}, problems={"goals": "Goals: write at least one."})
    await put(database, drafted, refused)
    assert await found(database, drafted) == drafted
    assert await found(database, refused) == refused


@pytest.mark.proves("discord:forms")
@pytest.mark.parametrize(
    "other", [replace(FORM, person=BEN.id), replace(FORM, channel=ELSEWHERE), replace(FORM, key="K")], ids=str
)
async def test_a_form_is_found_by_its_person_in_its_channel_under_its_key_alone(
    database: Database, other: FormDraft
) -> None:
    await put(database, FORM)
    assert await found(database, other) is None
    await put(database, replace(other, fields={"name": "Eva"}))
    assert await found(database) == FORM


async def test_the_last_form_under_a_key_is_kept(database: Database) -> None:
    later = replace(FORM, fields={"name": "Eva"}, expires_at=FORM.expires_at + FORM_LIFETIME)
    await put(database, FORM, replace(FORM, fields={}), later)
    assert await found(database, after=FORM_LIFETIME) == later


@pytest.mark.proves("discord:forms")
async def test_a_form_is_gone_when_it_has_expired_and_then_deleted(database: Database) -> None:
    await put(database, FORM, replace(FORM, key="later", expires_at=NOON + 2 * FORM_LIFETIME))
    almost = FORM_LIFETIME - timedelta(microseconds=1)
    assert await found(database, after=almost) == FORM
    assert await found(database, after=FORM_LIFETIME) is None
    for after, is_any in ((almost, False), (FORM_LIFETIME, True), (FORM_LIFETIME, False)):
        async with database.begin() as work:
            assert await work.form_drafts.expire(NOON + after) == is_any
            await work.commit()
    assert await found(database) is None
    assert await found(database, replace(FORM, key="later"))


@pytest.mark.slow
async def test_of_too_many_forms_the_oldest_go_first(database: Database) -> None:
    newer = [
        replace(FORM, person=f"p-{number // 10}", key=f"{number}", expires_at=NOON + timedelta(seconds=number))
        for number in range(MAX_FORMS)
    ]
    oldest = replace(FORM, expires_at=NOON - timedelta(seconds=1))
    await put(database, oldest, *newer[:-1])
    assert await found(database, oldest, timedelta(seconds=-2)) == oldest
    await put(database, newer[-1])
    assert await found(database, oldest, timedelta(seconds=-2)) is None
    assert await found(database, newer[0], timedelta(seconds=-2)) == newer[0]
    assert await found(database, newer[-1]) == newer[-1]


async def test_nobody_pushes_out_the_forms_of_others(database: Database) -> None:
    many = [
        replace(FORM, person="bob", key=f"{number}", expires_at=NOON + timedelta(hours=2, seconds=number))
        for number in range(MAX_FORMS_OF_PERSON + 1)
    ]
    await put(database, FORM, *many)
    assert await found(database, FORM) == FORM
    assert await found(database, many[0]) is None
    assert await found(database, many[1]) == many[1]


@pytest.mark.parametrize(
    "big",
    [
        replace(FORM, fields={"x" * MAX_FORM_CHARACTERS: "y"}),
        replace(FORM, problems={"": "x" * (MAX_FORM_CHARACTERS + 1)}),
        replace(FORM, agent_draft=AgentDraft(goals=("x" * MAX_FORM_CHARACTERS, "y"))),
    ],
    ids=["fields", "problems", "draft"],
)
async def test_a_form_that_is_too_long_is_refused(database: Database, big: FormDraft) -> None:
    with pytest.raises(InvalidInput, match="at most 40,000"):
        await put(database, big)
    longest = replace(FORM, fields={"": "x" * MAX_FORM_CHARACTERS})
    await put(database, longest)
    assert await found(database) == longest


@pytest.mark.proves("delete:everything")
async def test_a_form_about_an_agent_is_deleted_with_it(database: Database) -> None:
    about = replace(FORM, agent_id=an_agent().id)
    with pytest.raises(Conflict):
        await put(database, about)
    await keep(database, an_agent())
    await put(database, about, replace(FORM, key="another"))
    async with database.begin() as work:
        work.agents.remove(an_agent())
        await work.commit()
    assert await found(database) is None
    assert await found(database, replace(FORM, key="another"))


def test_a_form_of_discord_can_be_kept() -> None:
    assert draft.MAX_FORM_CHARACTERS >= 2 * 5 * 4000
