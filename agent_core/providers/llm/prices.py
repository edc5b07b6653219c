"""What tokens cost: by the operator's own prices, else by a price list that ships with a library and is not updated."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from ipaddress import ip_address
from typing import Self
from urllib.parse import urlsplit

from agent_core.model.usage import FREE, Usage

MILLION = Decimal(1_000_000)
SMALLEST = Decimal("0.000000001")


def is_loopback(base_url: str) -> bool:
    """Whether the address is on this machine."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


@dataclass(frozen=True, slots=True)
class Prices:
    """`overrides` maps a model to US dollars per million prompt and completion tokens; `free` are all others.

    `base_url` tells hosts of the same model apart where the price list knows them.
    """

    overrides: Mapping[str, tuple[Decimal, Decimal]]
    free: bool = False
    base_url: str = ""

    @classmethod
    def at(cls, base_url: str, overrides: Mapping[str, tuple[Decimal, Decimal]]) -> Self:
        """The prices of an endpoint: this machine charges nothing."""
        return cls(overrides, free=is_loopback(base_url), base_url=base_url)

    def of(self, usage: Usage, model: str) -> Decimal | None:
        """US dollars, or None when no price is known. An override knows no lower price for cached tokens."""
        cached = min(usage.cached, usage.prompt)
        units = {"input_tokens": usage.prompt, "cache_read_tokens": cached, "output_tokens": usage.completion}
        return self.of_units(units, model)

    def of_units(self, units: Mapping[str, int], model: str) -> Decimal | None:
        """The same for units of any kind, by the names of the price list: tokens, seconds of sound, characters.

        An override prices the tokens among them.
        """
        if self.is_own(model):
            prompt, completion = self.overrides.get(model, (FREE, FREE))
            cost = units.get("input_tokens", 0) * prompt + units.get("output_tokens", 0) * completion
            return (cost / MILLION).quantize(SMALLEST) if cost else FREE
        return _listed(units, model, self.base_url)

    def is_own(self, model: str) -> bool:
        """Whether the operator says what this model costs, or it runs on this machine."""
        return model in self.overrides or self.free


def _listed(units: Mapping[str, int], model: str, base_url: str) -> Decimal | None:
    from genai_prices import Usage as Units  # loaded when first asked: the list is large
    from genai_prices import calc_price

    for address in (base_url, None) if base_url else (None,):
        try:
            return calc_price(Units(**units), model, provider_api_url=address).total_price.quantize(SMALLEST)
        except (LookupError, TypeError, ValueError):
            continue
    return None
