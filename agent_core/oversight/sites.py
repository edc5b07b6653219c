"""Where the sites of a channel are kept: beside its last settings."""

import json
from dataclasses import asdict

from agent_core.model.channels import ChannelScope
from agent_core.model.sites import Sites
from agent_core.ports.database import Database, UnitOfWork

KEY = "sites"


async def sites_of(database: Database, channel: ChannelScope) -> Sites:
    """Which sites the agents of this channel may reach."""
    async with database.begin() as work:
        text = await work.preferences.get(channel, KEY)
    kept = json.loads(text) if text else {}
    return Sites(**{name: tuple(hosts) for name, hosts in kept.items()})


def keep_sites(work: UnitOfWork, channel: ChannelScope, sites: Sites) -> None:
    """Keep them from now on."""
    work.preferences.put(channel, KEY, json.dumps(asdict(sites)))
