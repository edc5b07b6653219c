"""What a model call costs in US dollars: by the operator's prices, else by genai-prices; nothing on loopback."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from ipaddress import ip_address
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from agent_core.model.model_calls import FREE, Usage
from agent_core.providers.outbound_proxy import is_loopback

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

MILLION = Decimal(1_000_000)
PRICE_UNIT = Decimal("0.000000001")
CLAUDE_CACHE_WRITE_SURCHARGE = Decimal("0.25")  # Anthropic's price for its cache of five minutes, of the prompt's price
# Names that no public server has; one without a dot is that of a container or a machine nearby.
PRIVATE_NAMES = (".local", ".lan", ".internal", ".home.arpa", ".localhost", ".localdomain")
SOLD_BY_THEIR_MAKERS = ("anthropic", "google", "openai", "x-ai")  # no server of one's own runs their models


def is_private(base_url: str) -> bool:
    """Whether the server is in a network of one's own, or on this machine."""
    host = urlsplit(base_url).hostname or ""
    try:
        return not ip_address(host).is_global
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(PRIVATE_NAMES))


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of one endpoint. `base_url` selects the provider in the price list.

    `overrides`: US dollars per million prompt and completion tokens, by model.
    `free`: all models without an override are free of charge.
    """

    overrides: Mapping[str, tuple[Decimal, Decimal]]
    free: bool = False
    base_url: str = ""

    @classmethod
    def at(cls, base_url: str, overrides: Mapping[str, tuple[Decimal, Decimal]]) -> Self:
        """The prices of an endpoint. On loopback, models without an override are free."""
        return cls(overrides, free=is_loopback(base_url), base_url=base_url)

    def of(self, usage: Usage, model: str) -> Decimal | None:
        """The cost in US dollars, or None if no price is known.

        Overrides have no discount for cached tokens. Claude's tokens that are written to the cache cost a quarter more.
        """
        cached = min(usage.cached, usage.prompt)
        written = min(usage.cache_written, usage.prompt - cached)
        units = {"input_tokens": usage.prompt, "cache_read_tokens": cached, "output_tokens": usage.completion}
        if written:
            units["cache_write_tokens"] = written
        return self.of_units(units, model)

    def of_units(self, units: Mapping[str, int], model: str) -> Decimal | None:
        """The cost in US dollars of units (tokens, seconds of audio, characters), or None if no price is known.

        `units` are named as in the price list. An override prices input and output tokens, and Claude's cache writes.
        """
        if self.free or model in self.overrides:
            prompt, completion = self.overrides.get(model, (FREE, FREE))
            cost = units.get("input_tokens", 0) * prompt + units.get("output_tokens", 0) * completion
            if "claude" in model.lower():
                cost += units.get("cache_write_tokens", 0) * prompt * CLAUDE_CACHE_WRITE_SURCHARGE
            return (cost / MILLION).quantize(PRICE_UNIT) if cost else FREE
        found = (each for each in listed(units, model, self.base_url) if self._applies(each))
        return next((each.total_price.quantize(PRICE_UNIT) for each in found), None)

    def _applies(self, found: "PriceCalculation") -> bool:
        """Whether a listed price is that of this endpoint: a server of one's own may run a model of a similar name."""
        is_sold = found.provider.id in SOLD_BY_THEIR_MAKERS and "oss" not in found.model.id
        return is_sold or not is_private(self.base_url)


def load_price_list() -> None:
    """Import the price list, which takes long enough to hold up all agents: call it in a thread."""
    import genai_prices  # noqa: F401


def listed(units: Mapping[str, int], model: str, base_url: str) -> "Iterator[PriceCalculation]":
    """The price list's calculations for these units: first by the provider at this URL, then by any provider."""
    from genai_prices import Usage as Units  # imported late: large
    from genai_prices import calc_price

    for address in (base_url, None) if base_url else (None,):
        with suppress(LookupError, TypeError, ValueError):
            yield calc_price(Units(**units), model, provider_api_url=address)
