"""What strangers write into headers and addresses, without a server: hosts and paths."""

import pytest

from adapters.web.urls import host_name, local_path


@pytest.mark.proves("page:stays")
@pytest.mark.parametrize(
    "path", ["//x", "/\\x", "\\\\x", "/\t/x", "/\r\nX: y", " //x", "https://x/", "", "/\x00", "/é"]
)
def test_an_address_that_may_lead_elsewhere_becomes_the_first_page(path: str) -> None:
    assert local_path(path) == "/"


@pytest.mark.parametrize("path", ["/", "/c/web/local/general", "/c/web/local/ops%20desk/a/1?last#end", "/%09/x"])
def test_an_address_on_this_site_is_kept(path: str) -> None:
    assert local_path(path) == path


@pytest.mark.proves("page:host")
@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("LOCALHOST:8700", "localhost"),
        ("[::1]:8700", "::1"),
        ("a@127.0.0.1", ""),
        ("[::1", ""),
        ("\udcff", ""),
        ("", ""),
    ],
)
def test_a_host_is_read_or_is_none(host: str, name: str) -> None:
    assert host_name(host) == name
