"""The theme that a browser chose, and the model of an agent beside its thread, over HTTP."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientSession

from agent_core.capabilities.demo.rehearsal import RehearsalModel
from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.page import PageChat, text_of
from tests.scenario.served import served


@pytest.fixture
async def ana(tmp_path: Path) -> AsyncIterator[PageChat]:
    async with (
        served(ScriptedModel(writing("a.txt", "one"), waits=True), tmp_path) as base,
        PageChat.opened(base, "ana") as chat,
    ):
        await chat.new_agent("Clerk", "writes", "Write a file")
        yield chat


@pytest.mark.slow
@pytest.mark.proves("page:theme")
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_the_server_draws_every_page_in_the_chosen_theme(ana: PageChat, theme: str) -> None:
    async with ana.session.post(f"{ana.base}/theme", data={"theme": theme, "to": ana.path}) as answer:
        assert answer.url.path == ana.path
    for page in (await ana.page(), await ana.page("/nothing-here")):
        assert f'<html lang="en" data-theme="{theme}">' in page
        assert f'value="{theme}" autocomplete="off" checked>' in page
    await ana.session.post(f"{ana.base}/theme", data={"theme": "", "to": "/"})
    assert '<html lang="en">' in await ana.page()


@pytest.mark.proves("page:theme")
async def test_the_door_has_the_theme_too(tmp_path: Path) -> None:
    async with (
        served(ScriptedModel(), tmp_path, token="long enough") as base,
        ClientSession() as session,
        session.get(base, cookies={"signoff_theme": "dark"}) as answer,
    ):
        assert (answer.url.path, '<html lang="en" data-theme="dark">' in await answer.text()) == ("/enter", True)


@pytest.mark.parametrize("strange", ['"><script>', "blue", "dark light"])
async def test_a_theme_that_does_not_exist_is_the_systems(ana: PageChat, strange: str) -> None:
    await ana.session.post(f"{ana.base}/theme", data={"theme": strange, "to": "//evil.example"})
    assert '<html lang="en">' in await ana.page()
    async with ana.session.get(ana.base, cookies={"signoff_theme": strange}) as answer:
        assert '<html lang="en">' in await answer.text()


@pytest.mark.slow
@pytest.mark.proves("page:model")
async def test_the_model_is_shown_beside_the_thread_and_changed_there(ana: PageChat) -> None:
    await ana.asks("write_to_file")
    assert (await ana.send("model", {"model": " gpt-5.4-mini "}))[0] == 200
    page = await ana.page()
    assert "<h2>Model</h2> <bdi>gpt-5.4-mini</bdi>" in page
    assert "@ana set the model: gpt-5.4-mini." in text_of(page)
    await ana.send("model", {"model": "default"})
    assert "@ana set the model: the default." in text_of(await ana.page())


@pytest.mark.slow
@pytest.mark.proves("page:model")
async def test_the_effort_is_changed_with_the_model_and_stays_where_the_form_does_not_name_it(ana: PageChat) -> None:
    await ana.asks("write_to_file")
    await ana.send("model", {"model": "", "effort": "low"})
    page = await ana.page()
    assert "<option selected>low</option>" in page
    assert "@ana set the model: the default, reasoning effort low." in text_of(page)
    await ana.send("model", {"model": "gpt-5.4-mini"})
    page = await ana.page()
    assert "reasoning effort low" in page
    assert "@ana set the model: gpt-5.4-mini." in text_of(page)
    await ana.send("model", {"model": "gpt-5.4-mini", "effort": ""})
    said = "@ana set the model: gpt-5.4-mini, reasoning effort default."
    assert said in text_of(await ana.page())


@pytest.mark.slow
@pytest.mark.proves("page:model")
async def test_an_effort_that_does_not_exist_changes_nothing(ana: PageChat) -> None:
    status, page = await ana.send("model", {"model": "gpt-5.4-mini", "effort": "a bit"})
    assert (status, 'aria-describedby="problem-effort"' in page) == (422, True)
    assert "set the model" not in text_of(await ana.page())


@pytest.mark.proves("page:model")
@pytest.mark.parametrize("name", ["two words", "m\u202eodel", "x" * 201])
async def test_a_model_that_cannot_be_one_comes_back_as_it_was_typed(ana: PageChat, name: str) -> None:
    status, page = await ana.send("model", {"model": name})
    assert (status, 'aria-invalid="true" aria-describedby="problem-model"' in page) == (422, True)
    assert "set the model" not in text_of(await ana.page())


@pytest.mark.slow
@pytest.mark.proves("page:model")
async def test_who_may_not_decide_sets_no_model(ana: PageChat) -> None:
    fields = {"name": "Own", "goals": "x", "approvers": "owner"}
    async with ana.session.post(f"{ana.base}/c/web/local/general/new", data=fields) as made:
        path = made.url.path
    async with PageChat.opened(ana.base, "ben", path) as ben:
        status, page = await ben.send("model", {"model": "gpt-9"})
    assert (status, "you may not set models here" in text_of(page)) == (403, True)


@pytest.mark.proves("page:model")
async def test_demo_mode_refuses_a_model_that_it_does_not_have_and_says_what_to_do(tmp_path: Path) -> None:
    async with served(RehearsalModel(), tmp_path) as base, PageChat.opened(base, "ana") as ana:
        await ana.new_agent("Clerk", "writes", "Write hello.txt with the text hi")
        status, page = await ana.send("model", {"model": "gpt-9"})
    assert status == 422
    assert "demo mode is a script and has no gpt-9. To connect a model, put" in text_of(page)
