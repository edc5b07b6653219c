"""Which word for a reasoning effort is sent instead of one that the endpoint refused for a model."""

import re
from typing import TypeAlias

from agent_core.model.draft import EFFORTS

# Each refused word with the one that is sent instead; "" sends none.
OtherEfforts: TypeAlias = tuple[tuple[str, str], ...]

# "none" counts in quotation marks only: it is also how errors show a missing value.
QUOTED_NONE = re.compile(r"['\"`‘“]none['\"`’”]")
EFFORT_WORD = re.compile(r"\b(?:minimal|low|medium|high|xhigh)\b")


def accepted_word(effort: str, others: OtherEfforts) -> str:
    """The word to send for this effort; "" if none is accepted."""
    instead = dict(others)
    while effort in instead:
        effort = instead[effort]
    return effort


def with_refused_word(complaint: str, sent: str, others: OtherEfforts) -> OtherEfforts | None:
    """The words after an error (in lower case) that refuses `sent`; None if the error names no effort.

    Instead of the refused word the nearest one is sent that the error names, or that was not refused if it names none;
    of two that are equally near the lower one. None of them is `none`, which would switch reasoning off.
    """
    named = {*EFFORT_WORD.findall(complaint), *(["none"] if QUOTED_NONE.search(complaint) else [])}
    if not named or sent not in EFFORTS:
        return None
    refused = {sent, *dict(others)}
    candidates = [word for word in EFFORTS if word in (named - {sent} or EFFORTS) and word not in {"none", *refused}]
    nearest = min(candidates, key=lambda word: abs(EFFORTS.index(word) - EFFORTS.index(sent)), default="")
    return (*others, (sent, nearest))
