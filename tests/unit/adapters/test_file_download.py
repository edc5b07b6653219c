"""Downloads of files from a platform's hosts: which redirects are followed, and what is refused."""

from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import ClientError
from yarl import URL

from adapters.discord.inbound.downloads import read_file
from adapters.file_download import Downloaded, DownloadRefused, download
from adapters.slack.inbound.downloads import SlackDownloads
from agent_core.errors import InvalidInput
from tests.standins.site import HERE, OPEN, leads_to, page, site

TOKEN = {"Authorization": "Bearer xoxb-1"}


async def fetched(url: str, home: str) -> Downloaded:
    return await download(URL(url), lambda each: each.origin() == URL(home), 100, TOKEN)


async def test_a_redirect_within_the_platform_is_followed() -> None:
    async with site(HERE, plan=leads_to("/signed?x=1"), signed=page("ship it", "application/pdf")) as ours:
        home = ours.url("", HERE)
        assert await fetched(ours.url("/plan", HERE), home) == Downloaded("application/pdf", b"ship it")


@pytest.mark.proves("chat:downloads")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_another_host_is_refused_and_that_host_is_asked_nothing(status: int) -> None:
    async with site(OPEN, file=page("bait")) as other:
        leads_away = leads_to(other.url("/file", OPEN), status)
        async with site(HERE, plan=leads_to("/next"), next=leads_away) as ours:
            with pytest.raises(DownloadRefused, match=f"redirects to {OPEN}"):
                await fetched(ours.url("/plan", HERE), ours.url("", HERE))
        assert other.requests == []


@pytest.mark.parametrize(
    ("answer", "why"),
    [(leads_to("/plan"), "too often"), (page("", status=404), "404"), (page("", status=204), "204")],
)
async def test_what_is_no_file_is_refused_with_the_reason(answer: bytes, why: str) -> None:
    async with site(HERE, plan=answer) as ours:
        with pytest.raises(DownloadRefused, match=why):
            await fetched(ours.url("/plan", HERE), ours.url("", HERE))


@pytest.mark.parametrize("location", ["http://[", "//", "javascript:1"])
async def test_a_redirect_that_is_no_address_is_refused(location: str) -> None:
    async with site(HERE, plan=leads_to(location)) as ours:
        with pytest.raises((DownloadRefused, ClientError, ValueError)):
            await fetched(ours.url("/plan", HERE), ours.url("", HERE))


@pytest.mark.parametrize(
    ("url", "is_trusted"),
    [
        ("https://files.slack.com/files-pri/T1-F1/plan.pdf", True),
        ("https://slack.com/api/file", True),
        ("http://files.slack.com/plan.pdf", False),
        ("http://slack.com/plan.pdf", False),
        ("https://files.slack.com.example/plan.pdf", False),
        ("https://files.slack.com@example.org/plan.pdf", False),
        ("https://notslack.com/plan.pdf", False),
        ("//files.slack.com/plan.pdf", False),
        ("", False),
    ],
)
def test_slacks_token_goes_to_slacks_own_hosts_by_https_alone(url: str, is_trusted: bool) -> None:
    downloads = SlackDownloads(None, URL("https://slack.com"))  # type: ignore[arg-type]
    assert downloads._is_slacks(URL(url)) is is_trusted


async def test_slacks_page_to_sign_in_is_not_taken_for_the_file() -> None:
    async with site(HERE, plan=leads_to("/signin"), signin=page("<title>Sign in</title>")) as slack:
        client = SimpleNamespace(token="xoxb-1")
        calls: Any = SimpleNamespace(tokens=SimpleNamespace(client=lambda _workspace: _given(client)))
        file = {"name": "plan.pdf", "mimetype": "application/pdf", "url_private_download": slack.url("/plan", HERE)}
        with pytest.raises(InvalidInput, match="page to sign in instead: the app may lack the permission files:read"):
            await SlackDownloads(calls, URL(slack.url("", HERE))).fetch("T1", file)


async def test_discords_redirects_are_followed_on_the_same_host_and_refused_to_others() -> None:
    async with site(OPEN, file=page("bait")) as other:
        leads_away = leads_to(other.url("/file", OPEN))
        async with site(HERE, moved=leads_to("/plan"), plan=page("ship it"), away=leads_away) as ours:
            assert await read_file(ours.url("/moved", HERE)) == b"ship it"
            with pytest.raises(DownloadRefused):
                await read_file(ours.url("/away", HERE))
        assert other.requests == []


async def _given(client: object) -> object:
    return client
