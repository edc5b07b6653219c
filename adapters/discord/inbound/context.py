"""What every Discord listener uses: the services, the surface, and functions that answer interactions."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import discord

from adapters.chat.services import ChatServices
from adapters.discord.inbound.form_store import FormStore
from adapters.discord.outbound.answer_messages import text_message
from adapters.discord.outbound.message import DiscordMessage
from adapters.discord.outbound.posted import files_of, ready
from adapters.discord.outbound.surface import DiscordSurface

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordContext(ChatServices):
    """The services, the surface and the store of forms that all listeners share."""

    surface: DiscordSurface
    forms: FormStore


async def tell(interaction: discord.Interaction, said: str | DiscordMessage) -> None:
    """Answer an interaction with an ephemeral message."""
    message = text_message(said) if isinstance(said, str) else said
    view, files = ready(message), files_of(message)
    with log_rejected_answer(interaction):
        if interaction.response.is_done():
            await interaction.followup.send(view=view, files=files, ephemeral=True)
        else:
            await interaction.response.send_message(view=view, files=files, ephemeral=True)


async def acknowledge(interaction: discord.Interaction) -> None:
    """Acknowledge a click or form, unless it was already answered."""
    if not interaction.response.is_done():
        with log_rejected_answer(interaction):
            await interaction.response.defer()


async def show_thinking(interaction: discord.Interaction) -> None:
    """Defer the answer: Discord shows that the bot is thinking, and accepts the answer for fifteen minutes."""
    with log_rejected_answer(interaction):
        await interaction.response.defer(ephemeral=True, thinking=True)


async def open_form(interaction: discord.Interaction, form: discord.ui.Modal) -> None:
    """Answer with a form: Discord accepts it only as the first answer and within three seconds."""
    form.stop()  # its submission is recognized by the `custom_id`
    with log_rejected_answer(interaction):
        await interaction.response.send_modal(form)


@contextmanager
def log_rejected_answer(interaction: discord.Interaction) -> Iterator[None]:
    """Context manager: log an answer that Discord rejects because it came after three seconds or is the second one."""
    try:
        yield
    except discord.HTTPException as refused:
        facts = {"interaction": interaction.id, "code": refused.code, "status": refused.status}
        logger.warning("not answered", extra=facts)
