"""Which web sites the agents of a channel may reach."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sites:
    """Host names; each stands for its subdomains too. With nothing in `allow` every site is, unless it is denied."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def refusal(self, host: str) -> str:
        """Why the channel's people keep agents from this host, as a sentence; "" where they do not."""
        name = host.rstrip(".").casefold()
        if _is_one_of(name, self.deny):
            return f"{name} is denied in this channel."
        if self.allow and not _is_one_of(name, self.allow):
            return f"{name} is not among the sites allowed in this channel: {', '.join(self.allow)}."
        return ""


def _is_one_of(name: str, sites: tuple[str, ...]) -> bool:
    return any(name == site or name.endswith(f".{site}") for site in sites)
