"""Finds names that no agent of a channel has."""

from agent_core.model.draft import DEFAULT_NAME, MAX_NAME_CHARACTERS
from agent_core.model.origin import ChannelScope
from agent_core.ports.database import UnitOfWork

ROOM_FOR_NUMBER = 4  # characters


async def find_free_name(work: UnitOfWork, channel: ChannelScope, wanted: str) -> str:
    """The wanted name, with a number if an agent of the channel has it, an archived one included."""
    first = " ".join(wanted.split())[: MAX_NAME_CHARACTERS - ROOM_FOR_NUMBER].rstrip() or DEFAULT_NAME
    name, number = first, 1
    while await work.agents.find_by_name(channel, name):
        number += 1
        name = f"{first} {number}"
    return name
