"""Allow and deny lists of web sites for the agents of a channel."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sites:
    """Host names; each includes its subdomains. An empty `allow` permits every site that `deny` does not list."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def refusal(self, host: str) -> str:
        """Why agents may not reach this host, as a sentence, or ""."""
        name = host.rstrip(".").casefold()
        if _is_one_of(name, self.deny):
            return f"{name} is denied in this channel."
        if self.allow and not _is_one_of(name, self.allow):
            return f"{name} is not among the sites allowed in this channel: {', '.join(self.allow)}."
        return ""


def _is_one_of(name: str, sites: tuple[str, ...]) -> bool:
    return any(name == site or name.endswith(f".{site}") for site in sites)
