"""Makes the forms of chat platforms: new agent, edit, reason, number, rule, reply, prompt.

Their classes are in `form_parts`; the form of a tool server's question is in `question_form`.

The page has forms of its own (`adapters/web/templates`), and the terminal asks line by line.
"""

from collections.abc import Iterable, Mapping

from adapters.screens.buttons import Button, ViewButton
from adapters.screens.cards import as_text
from adapters.screens.form_parts import Field, Form, Option, Said
from adapters.screens.text_fit import beginning
from adapters.screens.ui_text import APPROVE_N, REPLY_DOES, TOO_LONG_TO_EDIT, covered_text
from adapters.screens.visible_text import one_line, readable
from adapters.typed.form_values import DEFAULT_EFFORT, DRY_RUN, argument_names
from adapters.typed.prompt_drafts import ARGUMENT, GOES_TO_SERVER, PromptChoice
from adapters.typed.standing_rules import STILL_WAITS, Offered, digest_of, offer_text
from agent_core.model.agent import Agent
from agent_core.model.channel_policy import NEEDS_TEXT
from agent_core.model.command import RISK_CLASSES, CommandSpec
from agent_core.model.decision import MAX_LEASE_COMMANDS, MIN_LEASE_COMMANDS
from agent_core.model.draft import DEFAULT_NAME, DEFAULT_ROLE, EFFORTS, MAX_GOAL_CHARACTERS, MAX_GOALS
from agent_core.model.permissions import MAX_USES
from agent_core.model.turn import Turn

NEW_AGENT_TITLE, FROM_PROMPT = "New agent", "From a prompt"
APPROVERS = Option("anyone", "Anyone here"), Option("owner", "Only me", "Only I may approve")
VERBOSITIES = (
    Option("brief", "The text only, the rest under Thoughts"),
    Option("full", "All thoughts", "Cards show all thoughts"),
)
FREE = tuple(Option(risk, risk, f"Run without asking: {risk}") for risk in RISK_CLASSES)
TWO = tuple(Option(risk, risk, f"Two people approve: {risk}") for risk in RISK_CLASSES)
REASONING = tuple(Option(effort, effort, f"Reasoning effort: {effort}") for effort in EFFORTS)
OPERATORS_EFFORT = Option(DEFAULT_EFFORT, "Default")
UNTICKED = "If you tick nothing, every command asks."
ONE_IS_ENOUGH = "If you tick nothing, one person approves."
WHO_APPROVES = Option("anyone", "Any full member"), Option("owner", "Who made the agent", "Only makers may approve")
WHO_CHANGES = (
    Option("approvers", "Who may approve"),
    Option("anyone", "Any full member", "Any full member may change this"),
)
MAKERS = Option("on", "Yes"), Option("off", "No", "Makers approve no execute and publish of their own")
POLICY_EXTRAS = "If you choose nothing, any full member may approve. People and groups: !policy channel approvers @…"
DEFAULTS = "If you choose nothing, every command asks and anyone here may approve."
AGAIN = "It begins at once, and works on its goals again at these times. The thread says them in words."
SIMULATES = "Only simulate what changes or sends something"
DRY = Option("run", SIMULATES, f"Dry run: {SIMULATES[0].lower()}{SIMULATES[1:]}")
REASON_HINT = "Optional. The agent reads it and makes a new proposal."
MOST_OF_GOALS = MAX_GOALS * (2 * MAX_GOAL_CHARACTERS + 1)
LONGEST = {"name": 8_000, "role": 8_000, "goals": MOST_OF_GOALS, "budget": 99, "model": 999}  # what a form shows of it


def agent_form(values: Mapping[str, str], place: str, *, said: str = "", like: str = "") -> Form:
    """The form for a new agent. `values`: the values of its fields, as `form_values.fields_of` returns them.

    `place`: the channel's key; without it, the form asks for a channel. `like`: the agent whose settings it has.
    Discord has no room for one more field, unless it is extra and has options (`Field.is_extra`): there, people set the
    schedule by its command.
    """
    name, role, goals, budget, model = (
        beginning(readable(values.get(field, "")), most) for field, most in LONGEST.items()
    )
    free, two = (tuple(risk for risk in RISK_CLASSES if values.get(f"{kind}.{risk}")) for kind in ("free", "two"))
    dry = ("run",) if values.get(DRY_RUN) else ()
    effort, approvers = values.get("effort") or DEFAULT_EFFORT, values.get("approvers") or "anyone"
    parts = (
        Said(said, "small") if said else None,
        None if place else Field("channel", "Channel", "channel", is_required=True),
        Field("name", "Name", text=one_line(name), placeholder=DEFAULT_NAME),
        Field("role", "Role", "long text", role, placeholder=DEFAULT_ROLE),
        Field("goals", "Goals", "long text", goals, "One per line, 1 to 5.", is_required=True),
        Said("More", "heading"),
        Said(f"Settings from {like}, the last agent created here.", "small") if like else None,
        Field("schedule", "Schedule", hint=AGAIN, placeholder="every weekday at 9:00", is_extra=True),
        Field("budget", "Budget in US dollars", text=one_line(budget), placeholder="No limit"),
        Field("model", "Model", text=one_line(model), placeholder="The default model", is_extra=True),
        _one_of("effort", "Reasoning effort", (OPERATORS_EFFORT, *REASONING), effort, is_menu=True),
        Field("free", "Run without asking", "several of", "", UNTICKED, options=FREE, chosen=free, is_extra=True),
        Field("two", "Two people approve", "several of", "", ONE_IS_ENOUGH, options=TWO, chosen=two, is_extra=True),
        _one_of("approvers", "Who may approve", APPROVERS, approvers),
        Field("dry", "Dry run", "several of", options=(DRY,), chosen=dry, is_extra=True),
        _one_of("verbosity", "Cards show", VERBOSITIES, values.get("verbosity") or "brief"),
    )
    return Form("new", NEW_AGENT_TITLE, "Create", tuple(filter(None, parts)), place, extras_hint=DEFAULTS)


def _one_of(field: str, label: str, options: tuple[Option, ...], chosen: str, *, is_menu: bool = False) -> Field:
    return Field(
        field, label, "one of", options=options, chosen=(chosen,), is_menu=is_menu, is_required=True, is_extra=True
    )


def policy_form(fields: Mapping[str, str], carried: str) -> Form:
    """The form for the policy of a channel. `fields`: as `policies.fields_of_channel` has them; `carried`: packed."""
    needs = (
        Field(
            need,
            f"{text[0].upper()}{text[1:]}",
            "several of",
            options=tuple(Option(risk, risk) for risk in RISK_CLASSES),
            chosen=tuple(risk for risk in RISK_CLASSES if fields[f"need.{risk}"] == need),
        )
        for need, text in NEEDS_TEXT.items()
        if need
    )
    parts = (
        *needs,
        _one_of("approvers", "Who may approve", _with_named(fields, "approvers", WHO_APPROVES), fields["approvers"]),
        _one_of("makers", "Makers approve their own execute and publish", MAKERS, fields["makers"]),
        _one_of("managers", "Who may change this", _with_named(fields, "managers", WHO_CHANGES), fields["managers"]),
    )
    return Form("policy", "Policy of this channel", "Set the policy", parts, carried, extras_hint=POLICY_EXTRAS)


def _with_named(fields: Mapping[str, str], name: str, options: tuple[Option, ...]) -> tuple[Option, ...]:
    """The options, with that which keeps the people who are named, if the policy names some."""
    verb = "approve" if name == "approvers" else "change this"
    kept = Option("named", "Whom it names now", f"Whom it names now may {verb}")
    return (kept, *options) if fields[name] == "named" else options


def edit_form(turn: Turn, spec: CommandSpec, fields: Iterable[Field] | None = None) -> Form:
    """The form for the arguments of a command. `fields`: in place of one for each argument."""
    parts: tuple[Said | Field, ...] = tuple(argument_fields(turn, spec) if fields is None else fields)
    about, does = str(Button("edit", turn.id, shown=turn.control_hash)), f"Run edited: {spec.label}"
    parts = parts or (Said("This command takes no arguments."),)
    return Form("edit", f"Edit {spec.label}", "Run edited", parts, about, does, too_long=TOO_LONG_TO_EDIT)


def argument_fields(turn: Turn, spec: CommandSpec) -> Iterable[Field]:
    """A field for each argument."""
    given = turn.call.arguments
    for number, name in enumerate(argument_names(turn, spec)):
        text, hint = (as_text(given[name]), "") if name in given else ("", "Not given.")
        yield Field(f"{ARGUMENT}{number}", one_line(name), "long text", text, hint)


def reason_form(turn: Turn, about: str, said: str = "") -> Form:
    """The form for the reason of a rejection, which the agent reads; filled in with what the person `said` already."""
    reason = Field("text", "Reason", "long text", said, REASON_HINT)
    return Form("reject", f"Reject turn {turn.number}", "Reject", (reason,), about)


def number_form(turn: Turn, most: int = MAX_LEASE_COMMANDS) -> Form:
    """The form for the number of commands to approve, at most `most`."""
    least, hint = MIN_LEASE_COMMANDS, f"From {MIN_LEASE_COMMANDS} to {most}; this command is the first."
    number = Field("times", "How many commands", "whole number", "", hint, is_required=True, least=least, most=most)
    about, does = str(Button("approve", turn.id, shown=turn.control_hash)), f"{APPROVE_N} · turn {turn.number}"
    parts = (number, Said(covered_text(turn)))
    return Form("times", f"Approve turn {turn.number}", APPROVE_N, parts, about, does)


def rule_form(turn: Turn, offered: Offered, typed: Mapping[str, str] | None = None) -> Form:
    """The form for a rule that the open proposal suggests. `typed`: what a refused form had.

    The rules stand above the choice in full, because menus cut long options.
    """
    filled = typed or {"suggested": digest_of(offered[0][1])}
    options = tuple(Option(digest_of(made), f"Rule {number}") for number, (_, made) in enumerate(offered, 1))
    times, until = (beginning(readable(filled.get(name, "")), 99) for name in ("times", "until"))
    parts: tuple[Said | Field, ...] = (
        *(Said(offer_text(number, made), "quote") for number, (_, made) in enumerate(offered, 1)),
        Field("suggested", "Always allow", "one of", options=options, chosen=(filled["suggested"],), is_required=True),
        Field("times", "For how many commands", "whole number", times, "Empty: any number.", least=1, most=MAX_USES),
        Field("until", "Until", text=until, hint="In UTC. Empty: for good.", placeholder="2026-12-24 18:00"),
        Said(STILL_WAITS, "small"),
    )
    about = str(ViewButton("always allow", turn.id, shown=turn.control_hash))
    return Form("rule", "Always allow", "Always allow this", parts, about, f"Always allow this · turn {turn.number}")


def reply_form(agent: Agent, shown: str) -> Form:
    """The form for a reply to an agent. `shown`: the hash of the proposal that it is about, or ""."""
    hint, placeholder = REPLY_DOES if shown else "", "What should be different?"
    reply = Field("text", "Reply", "long text", "", hint, placeholder, is_required=True)
    return Form("reply", f"Reply to {agent.name}", "Reply", (reply,), str(Button("reply", agent.id, shown=shown)))


def prompt_form(choice: PromptChoice, typed: Mapping[str, str] | None = None, *, said: str = "") -> Form:
    """A field for each argument of a prompt, with what was typed; `said`: why the server gave no text, or ""."""
    arguments, described = choice.prompt.arguments, choice.prompt.description
    fields = (
        Field(
            at := f"{ARGUMENT}{number}",
            one_line(each.name),
            "long text",
            readable((typed or {}).get(at, "")),
            one_line(each.description),
            is_required=each.is_required,
        )
        for number, each in enumerate(arguments)
    )
    parts = (
        Said(said) if said else None,
        Said(f"{choice.title}: a prompt of the tool server {choice.source}", "title"),
        *((Said("The server says about it:", "small"), Said(described, "quote")) if described else ()),
        *fields,
        Said(GOES_TO_SERVER if arguments else "It needs no arguments.", "small"),
    )
    return Form(
        "prompt",
        FROM_PROMPT,
        "Fill in the form",
        tuple(filter(None, parts)),
        about=choice.key,
        does=f"{choice.source}: {choice.title}",
        brief=f"Goes to {choice.source}.",
        too_many=(
            f"The prompt {choice.title} of {choice.source} asks for {len(arguments)} arguments, more than a form "
            "here has room for. Start from it on the page or in the terminal."
        ),
    )
