"""What tokens cost."""

from decimal import Decimal

import pytest

from agent_core.capabilities.models.prices import Prices
from agent_core.model.model_calls import Usage
from agent_core.providers.outbound_proxy import is_loopback

USAGE = Usage(prompt=1_000_000, cached=400_000, completion=10_000)


CLAUDE = (Decimal(2), Decimal(10))
OWN = {"gpt-5-mini": (Decimal(1), Decimal(2)), "mine": (Decimal("0.5"), Decimal(0))}
WRITTEN = Usage(prompt=1_000_000, cache_written=800_000, cached=200_000)
TOO_MUCH_WRITTEN = Usage(prompt=1_000_000, cached=400_000, cache_written=1_000_000)
TOO_MUCH_CACHED = Usage(prompt=1_000_000, cached=2_000_000)
HERE = Prices.at("http://localhost:11434/v1", {"mine": (Decimal(1), Decimal(1))})
GATEWAY, GROQ = Prices.at("https://gateway.example/v1", {}), Prices.at("https://api.groq.com/openai/v1", {})
PRICES: dict[str, tuple[Prices, Usage, str, str | None]] = {
    "cached tokens cost what the list says for them": (Prices({}), USAGE, "gpt-5-mini", "0.18"),
    "an unknown model has no price": (Prices({}), USAGE, "nobody-knows-it", None),
    "the operator's own price comes first": (Prices(OWN, free=True), USAGE, "gpt-5-mini", "1.02"),
    "the operator's own price where the others are free": (Prices(OWN, free=True), USAGE, "mine", "0.5"),
    "what Claude writes to its cache costs more": (Prices({"claude-mine": CLAUDE}), WRITTEN, "claude-mine", "2.4"),
    "Claude at a gateway": (Prices({"anthropic/Claude-Mine": CLAUDE}), WRITTEN, "anthropic/Claude-Mine", "2.4"),
    "another model writes at the usual price": (Prices({"mine": CLAUDE}), WRITTEN, "mine", "2.0"),
    "no more is written than sent": (Prices({"claude-mine": CLAUDE}), TOO_MUCH_WRITTEN, "claude-mine", "2.3"),
    "more cached than sent is all cached": (Prices({}), TOO_MUCH_CACHED, "gpt-5-mini", "0.025"),
    "a server on this machine is free": (HERE, USAGE, "gpt-5-mini", "0"),
    "a server on this machine is not free if priced": (HERE, USAGE, "mine", "1.01"),
    "a gateway nobody knows is priced by the model's name": (GATEWAY, USAGE, "gpt-5-mini", "0.18"),
    "a host with its own price": (GROQ, Usage(prompt=1_000_000), "llama-3.3-70b-versatile", "0.59"),
}


@pytest.mark.parametrize(("prices", "used", "model", "price"), PRICES.values(), ids=PRICES)
def test_tokens_cost_what_the_operator_the_host_or_the_list_says(
    prices: Prices, used: Usage, model: str, price: str | None
) -> None:
    assert prices.of(used, model) == (None if price is None else Decimal(price))


@pytest.mark.parametrize(
    "address",
    [
        "http://ollama:11434/v1",
        "http://192.168.1.5:8000/v1",
        "http://100.100.1.5/v1",
        "http://[fd00::5]/v1",
        "http://host.docker.internal:11434/v1",
        "http://gpu.local/v1",
    ],
)
def test_a_server_of_ones_own_is_not_priced_like_a_vendors_model_of_a_similar_name(address: str) -> None:
    prices = Prices.at(address, {"mine": (Decimal(1), Decimal(1))})
    assert [prices.of(USAGE, name) for name in ("deepseek-r1:8b", "mistral-nemo", "gpt-oss-20b")] == [None] * 3
    assert (prices.of(USAGE, "gpt-5-mini"), prices.of(USAGE, "mine")) == (Decimal("0.18"), Decimal("1.01"))


@pytest.mark.parametrize("address", ["https://api.deepseek.com/v1", "https://gateway.example/v1", "http://1.1.1.1/v1"])
def test_a_public_server_is_priced_by_the_models_name(address: str) -> None:
    assert Prices.at(address, {}).of(USAGE, "deepseek-chat")


def test_a_price_has_nine_places() -> None:
    price = Prices({}).of(Usage(prompt=1), "gpt-5-nano")
    assert price is not None
    assert price.as_tuple().exponent == -9


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("http://127.0.0.1:1234/v1", True),
        ("http://127.9.9.9", True),
        ("http://[::1]:8000/v1", True),
        ("http://localhost/v1", True),
        ("http://localhost.example/v1", False),
        ("https://api.openai.com/v1", False),
        ("http://10.0.0.1/v1", False),
        ("", False),
    ],
)
def test_this_machine_is_known_by_its_address(address: str, here: bool) -> None:
    assert is_loopback(address) is here
