"""The two forms of the prompt, full and compact, and which one suits a model by its window or its size."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_core.model.command import CommandCall
from agent_core.model.model_calls import Message
from agent_core.prompt import known_files, small_model, small_model_commands
from agent_core.prompt.packing import Situation, TokenRoom, pack
from agent_core.replies.reading import reply_schema

ProfileName: TypeAlias = Literal["auto", "full", "compact"]

SMALL_WINDOW_TOKENS = 6_000
SMALL_MODEL_BILLIONS = 4.0
# Matches `3b`, `1.5B`, `8x7b`, Gemma 3n's `e2b` and `135m`, but not `1m`, which is a window.
SIZE_IN_NAME = re.compile(r"(?<![a-z0-9.])(?:(\d+)x)?e?(?:(\d+(?:\.\d+)?)b|(\d{3})m)(?![a-z0-9])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A form of the prompt. `folds`: whether a model's summary replaces older turns.

    `max_reply_tokens`: the limit of a reply, if it is lower than the usual one.
    `objection`: why a runnable call is refused before people see it, as a sentence for the model; "" if it is not.
    `adjust`: corrects a call before people are shown it, such as a missing line end.
    """

    name: Literal["full", "compact"]
    pack: Callable[[Situation, TokenRoom], tuple[Message, ...]]
    schema: Callable[[Situation], Mapping[str, object]]
    folds: bool = True
    temperature: float | None = None
    max_reply_tokens: int | None = None
    objection: Callable[[Situation, CommandCall], str] = lambda _situation, _call: ""
    adjust: Callable[[Situation, CommandCall], CommandCall] = lambda _situation, call: call


FULL = Profile(name="full", pack=pack, schema=lambda situation: reply_schema(situation.commands))
COMPACT = Profile(
    name="compact",
    pack=small_model.pack,
    schema=small_model_commands.schema,
    folds=False,
    temperature=small_model.TEMPERATURE,
    max_reply_tokens=small_model.MAX_REPLY_TOKENS,
    objection=small_model_commands.objection,
    adjust=known_files.add_missing_line_end,
)


def profile_for(wanted: ProfileName, model: str, window: int) -> Profile:
    """The profile that the operator chose, or the one that suits the model's window and size."""
    if wanted != "auto":
        return COMPACT if wanted == "compact" else FULL
    is_small = (billions_of_parameters(model) or SMALL_MODEL_BILLIONS + 1) <= SMALL_MODEL_BILLIONS
    return COMPACT if is_small or window < SMALL_WINDOW_TOKENS else FULL


def billions_of_parameters(model: str) -> float | None:
    """The largest parameter count that the model's name states, in billions, or None."""
    name = model.rpartition("/")[2].casefold()
    sizes = [float(many or 1) * (float(b) if b else int(m) / 1000) for many, b, m in SIZE_IN_NAME.findall(name)]
    return max(sizes, default=None)
