"""What agents can reach of the web, all of it through one egress gateway."""

from dataclasses import dataclass
from typing import Protocol

from agent_core.model.sites import Sites


@dataclass(frozen=True, slots=True)
class Address:
    """A host that a request went to, and the IP address that its name had then."""

    host: str
    ip: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What came back. `url` is where redirects led, `kind` the type it was declared as, without parameters.

    `hosts` are the hosts that were asked, in order: with redirects more than one.
    """

    url: str
    kind: str
    data: bytes
    charset: str = ""
    hosts: tuple[Address, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a page: an absolute URL of http or https."""

    url: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page as text. `remark` is a sentence on what kept it from being read whole, or ""."""

    url: str
    title: str
    text: str
    links: tuple[Link, ...] = ()
    remark: str = ""
    hosts: tuple[Address, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloned:
    """The files of a repository's newest commit, by path, and what was left out: each a path with the reason."""

    commit: str
    files: tuple[tuple[str, bytes], ...]
    left_out: tuple[str, ...] = ()
    hosts: tuple[Address, ...] = ()


class Web(Protocol):
    """The web as far as agents may reach it: http and https, on the open internet, at sites that the channel allows.

    Every method raises CommandError with one sentence for the model: what was refused or failed, why, what to do.
    What is refused: an address inside (of this machine, a private network, a cloud's metadata), however it is spelled,
    whatever a name resolves to and wherever a redirect leads; a login in the URL; a site that `sites` keeps agents
    from, at every redirect anew. Size, time and kind of what comes back are limited. Cancelling ends it all at once.
    """

    def host_of(self, url: str, sites: Sites) -> str:
        """The host as people are shown it before they decide; raise CommandError for a URL that is refused as it is.

        Asks nobody: no name is resolved and nothing is sent. It is as written, with the host that is meant beside it
        where that is spelled differently: "bücher.example (xn--bcher-kva.example)".
        """
        ...

    async def fetch(self, url: str, sites: Sites, most: int) -> Fetched:
        """Whatever is there, unpacked; raise CommandError when it is more than `most` bytes."""
        ...

    async def page(self, url: str, sites: Sites) -> Page:
        """A page of text; raise CommandError when there is none (a picture, an archive)."""
        ...

    async def clone(self, url: str, sites: Sites, most: int) -> Cloned:
        """A git repository's files, at most `most` bytes in all; nothing of the repository is run or followed."""
        ...
