"""The form of an agent's policy in the local workspace: what it shows, changes, and leaves to others."""

import html
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.page import PageChat, text_of
from tests.scenario.served import served

HIDDEN = re.compile(r'<input type="hidden" name="(shown\.[^"]+)" value="([^"]*)">')
TICKED = re.compile(r'name="(free\.\w+)" checked')


@pytest.fixture
async def base(tmp_path: Path) -> AsyncIterator[str]:
    async with served(ScriptedModel(writing("a.txt", "one"), waits=True), tmp_path) as address:
        yield address


@pytest.fixture
async def ana(base: str) -> AsyncIterator[PageChat]:
    async with PageChat.opened(base, "ana") as chat:
        await chat.new_agent("Clerk", "writes", "Write a file")
        await chat.asks("write_to_file")
        yield chat


async def form(chat: PageChat) -> dict[str, str]:
    """The fields that a browser would send if the person changed nothing."""
    return fields_in(await chat.page("/policy"))


def fields_in(page: str) -> dict[str, str]:
    chosen = dict.fromkeys(TICKED.findall(page), "on")
    approvers = "owner" if '<option value="owner" selected' in page else "anyone"
    verbosity = "full" if '<option value="full" selected' in page else "brief"
    hidden = {name: html.unescape(value) for name, value in HIDDEN.findall(page)}
    return {**hidden, **chosen, "approvers": approvers, "verbosity": verbosity}


@pytest.mark.proves("policy:open-card")
async def test_the_form_changes_the_policy_and_the_thread_says_who_did(ana: PageChat) -> None:
    assert f'href="{ana.path}/policy">' in await ana.page()
    status, page = await ana.send("policy", {**await form(ana), "free.write": "on", "approvers": "owner"})
    said = "@ana set the policy: who may approve: only @ana; runs without asking: write."
    assert (status, said in page, "Approve" in page) == (200, True, True)
    assert "Runs without asking: write (chosen by @ana)" in text_of(page)
    assert (await form(ana))["free.write"] == "on"


@pytest.mark.slow
@pytest.mark.proves("policy:together")
async def test_a_form_that_was_open_while_another_person_changed_the_policy_keeps_that_change(
    base: str, ana: PageChat
) -> None:
    await ana.send("policy", {**await form(ana), "free.write": "on", "free.execute": "on"})
    open_form = await form(ana)
    async with PageChat.opened(base, "ben", ana.path) as ben:
        fields = await form(ben)
        del fields["free.execute"]
        await ben.send("policy", fields)
    _, page = await ana.send("policy", {**open_form, "verbosity": "full"})
    assert "@ben set the policy: asks again: execute." in page
    assert "@ana set the policy: cards show all thoughts." in page
    assert "Runs without asking: write (chosen by @ana)" in text_of(page)


@pytest.mark.slow
@pytest.mark.proves("policy:chooser")
async def test_a_form_that_did_not_show_a_free_class_is_shown_anew_with_it_before_it_sets_another_free(
    base: str, ana: PageChat
) -> None:
    open_form = await form(ana)
    async with PageChat.opened(base, "ben", ana.path) as ben:
        await ben.send("policy", {**await form(ben), "free.write": "on"})
    status, page = await ana.send("policy", {**open_form, "free.network": "on", "verbosity": "full"})
    assert (status, "as @ben chose: write." in text_of(page)) == (422, True)
    assert TICKED.findall(page) == ["free.write", "free.network"]
    assert '<option value="full" selected' in page
    status, page = await ana.send("policy", fields_in(page))
    assert "Runs without asking: write, network (chosen by @ana)" in text_of(page)


@pytest.mark.slow
@pytest.mark.proves("rights:owner")
async def test_who_may_not_decide_changes_no_policy(base: str, ana: PageChat) -> None:
    await ana.send("policy", {**await form(ana), "approvers": "owner"})
    async with PageChat.opened(base, "ben", ana.path) as ben:
        status, page = await ben.send("policy", {**await form(ben), "approvers": "anyone", "free.execute": "on"})
    assert (status, "you may not set the policy here: only @ana decides" in text_of(page)) == (403, True)
    assert (await form(ana))["approvers"] == "owner"


@pytest.mark.slow
async def test_a_form_that_changes_nothing_says_nothing(ana: PageChat) -> None:
    status, page = await ana.send("policy", await form(ana))
    assert (status, "set the policy" in page) == (200, False)


async def test_a_policy_of_another_channel_is_not_there(base: str, ana: PageChat) -> None:
    elsewhere = ana.path.replace("/general/", "/other/")
    async with ana.session.get(f"{base}{elsewhere}/policy") as answer:
        assert answer.status == 404
    async with ana.session.post(f"{base}{elsewhere}/policy", data={"free.execute": "on"}) as answer:
        assert answer.status == 404
    assert "free.execute" not in await form(ana)


@pytest.mark.slow
async def test_who_may_not_change_the_policy_reads_it_and_is_told_who_may(base: str, ana: PageChat) -> None:
    await ana.send("policy", {**await form(ana), "approvers": "owner"})
    async with PageChat.opened(base, "ben", ana.path) as ben:
        page = await ben.page("/policy")
    assert "Only @ana may change this." in text_of(page)
    assert "Set the policy" not in page
    assert "Set the policy" in await ana.page("/policy")


@pytest.mark.slow
async def test_a_wrong_name_at_delete_is_told_beside_the_field_and_what_was_typed_stays(ana: PageChat) -> None:
    status, page = await ana.send("delete", {"name": "Klerk"})
    assert (status, 'value="Klerk" aria-invalid="true"' in page) == (422, True)
    assert "To delete Clerk, type its name." in text_of(page)


@pytest.mark.slow
async def test_after_a_deletion_the_page_goes_on_as_that_of_the_channel(ana: PageChat) -> None:
    status, page = await ana.send("delete", {"name": "Clerk"})
    assert (status, "Clerk was deleted" in text_of(page)) == (200, True)
    assert 'data-refresh="/c/web/local/general"' in page


@pytest.mark.slow
async def test_a_template_that_was_used_before_offers_a_name_that_is_free(ana: PageChat) -> None:
    channel = ana.path.rpartition("/a/")[0]
    ana.path = channel
    page = await ana.page("/new")
    key, name = "", ""
    for key in re.findall(r'href="\?template=([^"]+)"', page):
        name = re.findall(r'id="name" name="name" value="([^"]*)"', await ana.page(f"/new?template={key}"))[0]
        break
    await ana.send("new", {"name": name, "role": "writes", "goals": "Write a file"})
    ana.path = channel
    again = await ana.page(f"/new?template={key}")
    assert f'id="name" name="name" value="{name} 2"' in again
    assert "Nothing is created yet." in again


@pytest.mark.proves("evidence:posted")
async def test_the_page_of_the_channel_switches_the_posting_of_heads(base: str, ana: PageChat) -> None:
    address = f"{base}{ana.path.partition('/a/')[0]}/policy"
    on = '<option value="on" selected>yes, in the thread of the agent that acted last</option>'
    async with ana.session.get(address) as answer:
        assert on not in await answer.text()
    async with ana.session.post(address, data={"shown.heads": "off", "heads": "on"}) as answer:
        assert on in await answer.text()
    assert "the log&#39;s head is posted once a day: no → yes" in await ana.page()
