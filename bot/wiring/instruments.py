"""What is measured, said once: Prometheus and OpenTelemetry make their own instruments of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent_core.ports.telemetry import Activity

WAITS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 28_800.0, 86_400.0, 259_200.0, 604_800.0)
RUNS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
QUICK = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Instrument:
    """One thing that is measured. `buckets`: the upper bounds of a histogram of seconds; () for a counter.

    `known`: values of the one label of a counter, which are told from the start.

    `name`: as OpenTelemetry has it. Prometheus has it with `_` for each `.`, and `_seconds` or `_total` at the end.
    """

    name: str
    said: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    unit: str = "s"
    known: tuple[str, ...] = ()


DURATIONS: Mapping[Activity, Instrument] = {
    "turn": Instrument("signoff.turn.duration", "Turns, from thought to end.", ("state",), WAITS),
    "decision": Instrument("signoff.decision.duration", "Waits until a person decided.", ("decision",), WAITS),
    "think": Instrument("signoff.think.duration", "Think steps, with all their model calls.", (), RUNS),
    "model call": Instrument("signoff.model.call.duration", "Model calls that were answered.", ("model", "kind"), RUNS),
    "command": Instrument("signoff.command.duration", "Runs of commands.", ("result",), RUNS),
    "card": Instrument("signoff.card.duration", "Cards sent to a surface or changed there.", ("surface",), QUICK),
    "sweep": Instrument("signoff.sweep.duration", "Searches for agents with work due.", (), QUICK),
}
TOKENS = Instrument("signoff.model.tokens", "Tokens of model calls.", ("model", "type"), unit="{token}")
DOLLARS = Instrument("signoff.model.cost.dollars", "Cost of model calls in US dollars.", ("model",), unit="{USD}")
KINDS = ("ModelRefused", "ModelUnavailable", "PromptTooLong", "RateLimited")
ERRORS = Instrument(
    "signoff.model.errors", "Model calls that failed, by kind of error.", ("error",), unit="{error}", known=KINDS
)
SOURCES = ("discord", "model", "slack")
RATE_LIMITS = Instrument("signoff.rate.limits", "Rate limits met.", ("source",), unit="{answer}", known=SOURCES)
INSTRUMENTS = (*DURATIONS.values(), TOKENS, DOLLARS, ERRORS, RATE_LIMITS)
NO_ERROR = ("CancelledError", "GeneratorExit", "OverBudget")  # of a model call that was given up, or not made
FINISHES = ("stop", "length", "content_filter")
OTHER = "other"  # in place of a name that people or an endpoint chose
