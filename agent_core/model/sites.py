"""Allow list and deny list of web sites for the agents of a channel, and their JSON form."""

import json
from dataclasses import asdict, dataclass, fields

SITES_KEY = "sites"  # the channel's preference that holds them


@dataclass(frozen=True, slots=True, kw_only=True)
class Sites:
    """Host names; each includes its subdomains. An empty `allow` allows every site that is not in `deny`."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def refusal(self, host: str) -> str:
        """Why the host is refused, as a sentence; "" if it is allowed."""
        name = host.rstrip(".").casefold()
        if _is_one_of(name, self.deny):
            return f"{name} is denied in this channel."
        if self.allow and not _is_one_of(name, self.allow):
            return f"{name} is not among the sites allowed in this channel: {', '.join(self.allow)}."
        return ""


def parse_sites(text: str | None) -> Sites:
    """Parse the stored lists; None gives empty lists."""
    lists = json.loads(text) if text else {}
    return Sites(**{each.name: tuple(lists.get(each.name, ())) for each in fields(Sites)})


def serialise_sites(sites: Sites, before: str | None = None) -> str:
    """The lists to store. What a newer release keeps beside them in `before`, the text stored so far, stays."""
    return json.dumps({**(json.loads(before) if before else {}), **asdict(sites)})


def _is_one_of(name: str, sites: tuple[str, ...]) -> bool:
    return any(name == site or name.endswith(f".{site}") for site in sites)
