"""Reads the ready-made agents that forms offer: one ai_settings.yaml each, with settings of Signoff beside AutoGPT's.

The operator's folder may add templates, and replace those of Signoff by files of the same name. Demo mode has some of
its own, and of the others those that its script can carry out.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import cast, get_args

from adapters.typed.settings_file import decoded, parse_settings, read_mapping, text_value
from agent_core.errors import InvalidInput
from agent_core.model.decision import Approvers, Policy, Verbosity
from agent_core.model.draft import AgentDraft
from agent_core.ports.models import Rehearsal

FOLDER = Path(__file__).parent / "template_agents"
DEMO_FOLDER = FOLDER / "demo"
KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}", re.ASCII)
MAX_TEMPLATES, MAX_LABEL_CHARACTERS, MAX_FILE_BYTES = 50, 70, 100_000
PREFIX = "signoff_"
EXTRAS = tuple(f"{PREFIX}{name}" for name in ("label", "model", "effort", "approvers", "verbosity"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTemplate:
    """A ready-made agent. `key`, its file's name without the ending, selects it; `label` says what it shows."""

    key: str
    label: str
    draft: AgentDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTemplates:
    """The templates in the order of their files' names. `faults`: what is wrong with each file that was left out."""

    every: tuple[AgentTemplate, ...] = ()
    faults: tuple[str, ...] = ()

    def find(self, key: str) -> AgentTemplate | None:
        return next((each for each in self.every if each.key == key), None)

    def get(self, key: str) -> AgentTemplate:
        """The template; raise InvalidInput with the names of those that there are."""
        if found := self.find(key):
            return found
        said = f"There is no template {key[:60]}." if key else "Which template?"
        raise InvalidInput({"template": f"{said} There are: {', '.join(each.key for each in self.every)}."})


NO_TEMPLATES = AgentTemplates()


def load_templates(folder: Path | None = None, rehearsal: Rehearsal | None = None) -> AgentTemplates:
    """The templates of Signoff and those in the operator's folder. Never raises: what cannot be used is left out.

    `rehearsal`: the script of demo mode.
    """
    found, faults = _shipped(FOLDER)
    if rehearsal:
        found, faults = {**found, **_shipped(DEMO_FOLDER)[0]}, [*faults, *_shipped(DEMO_FOLDER)[1]]
        found = {key: each for key, each in found.items() if not rehearsal.goals_problem(each.draft.goals)}
    if folder is not None:
        own, faults = _read_folder(folder)
        found = {**found, **own}
    every = tuple(found[key] for key in sorted(found))
    if len(every) > MAX_TEMPLATES:
        rest = ", ".join(each.key for each in every[MAX_TEMPLATES:])
        faults = [*faults, f"more than {MAX_TEMPLATES} templates: {rest}"]
    return AgentTemplates(every=every[:MAX_TEMPLATES], faults=tuple(faults))


def parse_template(key: str, text: str, source: str) -> AgentTemplate:
    """Parse the text of a template; raise InvalidInput with one line that says what is wrong."""
    draft, kept = parse_settings(text, source), read_mapping(source, text)
    extras = {name: text_value(source, kept, name).strip() for name in EXTRAS}
    if problem := _problem(kept, extras):
        raise InvalidInput({"template": f"{source}: {problem}."})
    label = extras[f"{PREFIX}label"] or draft.name or key
    filled = replace(
        draft,
        budget=draft.budget or None,
        model=extras[f"{PREFIX}model"],
        effort=extras[f"{PREFIX}effort"],
        policy=Policy(
            approvers=cast("Approvers", extras[f"{PREFIX}approvers"] or "anyone"),
            verbosity=cast("Verbosity", extras[f"{PREFIX}verbosity"] or "brief"),
        ),
    )
    try:
        return AgentTemplate(key=key, label=label, draft=filled.tidied())
    except InvalidInput as wrong:
        raise InvalidInput({"template": f"{source}: {wrong}"}) from None


def _problem(kept: Mapping[object, object], extras: Mapping[str, str]) -> str:
    """What is wrong with the settings of Signoff in a file, "" if nothing is."""
    unknown = [str(name) for name in kept if str(name).startswith(PREFIX) and name not in EXTRAS]
    if unknown:
        return f"{unknown[0][:60]} is not known; there are {', '.join(EXTRAS)}"
    if len(extras[f"{PREFIX}label"]) > MAX_LABEL_CHARACTERS:
        return f"{PREFIX}label has more than {MAX_LABEL_CHARACTERS} characters"
    for name, choices in (("approvers", get_args(Approvers)), ("verbosity", get_args(Verbosity))):
        if extras[f"{PREFIX}{name}"] not in ("", *choices):
            return f"{PREFIX}{name} is none of {', '.join(choices)}"
    return ""


@cache
def _shipped(folder: Path) -> tuple[dict[str, AgentTemplate], list[str]]:
    """Signoff's own templates of a folder, which do not change while it runs."""
    return _read_folder(folder)


def _read_folder(folder: Path) -> tuple[dict[str, AgentTemplate], list[str]]:
    found: dict[str, AgentTemplate] = {}
    faults: list[str] = []
    try:
        paths = _list_files(folder.iterdir())
    except OSError as error:
        return {}, [f"{folder}: {error.strerror or 'it cannot be read'}"]
    for path in paths:
        try:
            found[path.stem] = _read(path)
        except InvalidInput as wrong:
            faults.append(str(wrong).rstrip("."))
        except OSError as error:
            faults.append(f"{path.name}: {error.strerror or 'it cannot be read'}")
    return found, faults


def _list_files(paths: Iterable[Path]) -> list[Path]:
    return sorted(path for path in paths if path.suffix in (".yaml", ".yml") and not path.name.startswith("."))


def _read(path: Path) -> AgentTemplate:
    if not KEY.fullmatch(path.stem):
        raise InvalidInput({"template": f"{path.name!a}: its name may have letters, digits, dots, - and _ only."})
    with path.open("rb") as file:
        return parse_template(path.stem, decoded(file.read(MAX_FILE_BYTES), path.name), path.name)
