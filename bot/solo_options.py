"""The command line of `signoff solo`."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import NoReturn

from adapters.typed.agent_templates import NO_TEMPLATES, AgentTemplates
from adapters.typed.settings_file import read_settings
from agent_core.errors import InvalidInput
from agent_core.model.draft import EFFORTS, AgentDraft

BAD_USAGE = 2
MOST_DIGITS = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class SoloOptions:
    """The parsed command line.

    `is_unlimited`: the budget option is 0, so the default limit does not apply either.
    `continuous`: the number of commands that run without approval, 0 for none.
    `tour`: take the tour of demo mode instead of creating an agent from the draft.
    `prompt`: the prompt of a tool server from which the draft is filled in, "" for none; `arguments`: what it is told.
    `export`: the file to which an agent's settings are written instead of starting a conversation.
    """

    draft: AgentDraft
    is_unlimited: bool = False
    continuous: int = 0
    json: bool = False
    tour: bool = False
    prompt: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    export: Path | None = None


def parse(argv: Sequence[str], templates: AgentTemplates = NO_TEMPLATES) -> SoloOptions:
    """Parse the command line. If it is invalid or names no template, print one line and exit with code 2."""
    parser = _parser()
    given = parser.parse_args(argv)
    try:
        draft = templates.get(given.template).draft if given.template else AgentDraft()
        draft = read_settings(given.settings) if given.settings else draft
    except InvalidInput as error:
        parser.error(str(error))
    said = {"name": given.name, "role": given.role, "goals": tuple(given.goal)}
    said |= {"model": given.model, "effort": given.effort}
    draft = replace(draft, **{name: value for name, value in said.items() if value})
    budget = draft.budget if given.budget is None else given.budget
    return SoloOptions(
        draft=replace(draft, budget=budget or None),
        is_unlimited=budget == 0,
        continuous=given.continuous,
        json=given.json,
        tour=given.tour,
        prompt=given.prompt,
        arguments=_arguments(given.argument, parser) if given.prompt or given.argument else {},
        export=given.export,
    )


class _Parser(argparse.ArgumentParser):
    """Reports an invalid command line in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_USAGE, f"{self.prog}: {message}\n")


def _parser() -> _Parser:
    parser = _Parser(prog="signoff solo", description="Run one agent in this terminal.", allow_abbrev=False)
    parser.add_argument("--name", default="", help="the agent's name; one that is there already is resumed")
    parser.add_argument("--role", default="", help="what it is")
    parser.add_argument("--goal", action="append", default=[], help="what it is to reach; repeat for up to five")
    given = parser.add_mutually_exclusive_group()
    given.add_argument("--template", default="", metavar="KEY", help="begin with a template, as the form offers them")
    given.add_argument("--settings", type=Path, metavar="FILE", help="an ai_settings.yaml of AutoGPT")
    given.add_argument("--prompt", default="", metavar="SERVER.NAME", help="begin with a prompt of a tool server")
    parser.add_argument(
        "--argument", action="append", default=[], metavar="NAME=VALUE", help="an argument of the prompt; repeatable"
    )
    parser.add_argument("--budget", type=_dollars, metavar="USD", help="what it may spend; 0 is no limit")
    parser.add_argument(
        "--model",
        default="",
        help="the language model it thinks with; also sets that of an agent that is there already",
    )
    parser.add_argument("--effort", default="", choices=EFFORTS, help="how long that model reasons")
    parser.add_argument(
        "--continuous", type=_count, default=0, metavar="N", help="run N commands of every class without asking"
    )
    parser.add_argument("--export", type=Path, metavar="FILE", help="write the agent's ai_settings.yaml, and end")
    parser.add_argument("--tour", action="store_true", help="take the tour of demo mode: seven steps on sample files")
    parser.add_argument("--json", action="store_true", help="one JSON object per finished turn on standard output")
    return parser


def _arguments(given: Sequence[str], parser: argparse.ArgumentParser) -> dict[str, str]:
    for each in given:
        if "=" not in each:
            parser.error(f"argument --argument: NAME=VALUE, not {each[:60]!r}")
    return dict(each.split("=", 1) for each in given)


def _count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"a number of commands from 1, not {text!r}")
    return number


def _dollars(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(-1)
    if not amount.is_finite() or amount < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount in US dollars")
    return amount
