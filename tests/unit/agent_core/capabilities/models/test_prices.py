"""What tokens cost."""

from decimal import Decimal

import pytest

from agent_core.capabilities.models.prices import Prices
from agent_core.model.model_calls import Usage
from agent_core.providers.outbound_proxy import is_loopback

USAGE = Usage(prompt=1_000_000, cached=400_000, completion=10_000)


def test_cached_tokens_cost_what_the_list_says_for_them() -> None:
    assert Prices({}).of(USAGE, "gpt-5-mini") == Decimal("0.18")


def test_an_unknown_model_has_no_price() -> None:
    assert Prices({}).of(USAGE, "nobody-knows-it") is None


def test_the_operators_own_price_comes_first() -> None:
    own = {"gpt-5-mini": (Decimal(1), Decimal(2)), "mine": (Decimal("0.5"), Decimal(0))}
    prices = Prices(own, free=True)
    assert prices.of(USAGE, "gpt-5-mini") == Decimal("1.02")
    assert prices.of(USAGE, "mine") == Decimal("0.5")


@pytest.mark.parametrize(
    ("model", "price"), [("claude-mine", "2.4"), ("anthropic/Claude-Mine", "2.4"), ("mine", "2.0")]
)
def test_tokens_that_claude_writes_to_its_cache_cost_a_quarter_more_than_the_operators_price(
    model: str, price: str
) -> None:
    prices = Prices({model: (Decimal(2), Decimal(10))})
    assert prices.of(Usage(prompt=1_000_000, cache_written=800_000, cached=200_000), model) == Decimal(price)


def test_no_more_is_written_to_the_cache_than_was_sent_and_not_read_from_it() -> None:
    prices = Prices({"claude-mine": (Decimal(2), Decimal(10))})
    used = Usage(prompt=1_000_000, cached=400_000, cache_written=1_000_000)
    assert prices.of(used, "claude-mine") == Decimal("2.3")


def test_a_server_on_this_machine_is_free_unless_priced() -> None:
    prices = Prices.at("http://localhost:11434/v1", {"mine": (Decimal(1), Decimal(1))})
    assert prices.of(USAGE, "gpt-5-mini") == Decimal(0)
    assert prices.of(USAGE, "mine") == Decimal("1.01")


def test_a_gateway_nobody_knows_is_priced_by_the_models_name() -> None:
    assert Prices.at("https://gateway.example/v1", {}).of(USAGE, "gpt-5-mini") == Decimal("0.18")


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


def test_the_host_decides_where_it_has_its_own_price() -> None:
    hosted = Prices.at("https://api.groq.com/openai/v1", {}).of(Usage(prompt=1_000_000), "llama-3.3-70b-versatile")
    assert hosted == Decimal("0.59")


def test_more_cached_than_sent_is_priced_as_all_cached() -> None:
    assert Prices({}).of(Usage(prompt=1_000_000, cached=2_000_000), "gpt-5-mini") == Decimal("0.025")


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
