"""Tells typed commands from names and replies, by the text after the verb."""

import re
from typing import Literal, TypeAlias, cast, get_args

from adapters.screens.ui_text import first_word
from agent_core.model.draft import MAX_MODEL_CHARACTERS

ChannelVerb: TypeAlias = Literal["sites", "tools", "reminders", "notify"]  # a channel's settings: no agent is named
ThreadVerb: TypeAlias = Literal[
    "goals", "model", "budget", "policy", "rules", "memory", "schedule", "export", "audit", "fork", ChannelVerb
]
CHANNEL_VERBS: tuple[ChannelVerb, ...] = get_args(ChannelVerb)
CHANNEL_POLICY = (
    r"channel\s*$|channel\s+(approvers|managers|makers|heads|cards|times|free|one|two|never|agents|reset)\b"
)
# How the text after each verb but `model` begins; other text is an agent's name, or a reply.
TEXT_BEGINNINGS: dict[ThreadVerb, str] = {
    "goals": r"set\b",
    "budget": r"(channel|none|no limit)\b|\$?\s*\d",
    "policy": r"(approvers|free|ask|two|one|cards)\b|" + CHANNEL_POLICY,
    "rules": r"(allow|never|revoke)\b",
    "memory": r"(list|search|add|forget|export)\b",
    "sites": r"(allow|deny|clear)\b",
    "tools": r"((off|on|only)\s+[\w.-]+|all\s+on)\s*$",
    "schedule": r"(every|set)\s|(pause|resume|now|delete|list)\s*$|[\d*/,-]+(\s+\S+){4}",
    "export": r"(?!)",
    "audit": r"channel\s*$",
    "fork": r"(real|\d+)(?!\S)",
    "reminders": r"(call|after|backup|pause|quiet|weekends|zone)\b",
    "notify": r"(me|on|off)\s*$",
}


def begins_thread_command(verb: ThreadVerb, said: str) -> bool:
    """Whether the text after the verb is this command's argument. If not, it is an agent's name or part of a reply."""
    if verb == "model":
        return _may_name_model(said.strip())
    return re.match(TEXT_BEGINNINGS[verb], said, re.IGNORECASE) is not None


def is_about_channel(verb: str, said: str) -> bool:
    """Whether it is `policy channel …` or `schedule list`, which name no agent."""
    return (verb, first_word(said)[0]) in (("policy", "channel"), ("schedule", "list"))


def is_channel_policy(said: str) -> bool:
    """Whether it is `policy channel` alone, which opens a form where there are forms."""
    return said.strip().casefold() == "channel"


def is_thread_command(line: str) -> bool:
    """Whether a line without `!` is a command, such as `memory search tea`, and not a reply.

    `model` with a name is one only in lower case, and if the name has a digit and a sign, as in `model gpt-5.4-mini`.
    """
    word, rest = first_word(line)
    if word == "model" and rest:
        return begins_thread_command("model", rest) and (rest.casefold() == "default" or _is_plain_model_line(line))
    if word == "schedule":  # "schedule every day a meeting" is for the agent
        return False
    return word in get_args(ThreadVerb) and (not rest or begins_thread_command(cast("ThreadVerb", word), rest))


def _may_name_model(said: str) -> bool:
    """Whether the text is `default`, or one word with a digit, "-", ":" or "/", as names of models have."""
    if len(said) > MAX_MODEL_CHARACTERS or len(said.split()) != 1:
        return False
    return said.casefold() == "default" or any(sign in "-:/" or sign.isdigit() for sign in said)


def _is_plain_model_line(line: str) -> bool:
    """Whether a line of two words, `model` and a name, can mean nothing but a change of the model."""
    word, name = line.split()
    has_digit, has_sign = any(map(str.isdigit, name)), any(sign in "-:/." for sign in name)
    return word == "model" and name[0].isalpha() and name.islower() and has_digit and has_sign and "://" not in name
