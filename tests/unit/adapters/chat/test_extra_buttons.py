"""The texts of buttons that only chat platforms have."""

import pytest

from adapters.chat.extra_buttons import ColonSeparatedButton, DeleteButton, UploadButton
from adapters.discord.outbound.extra_buttons import DiscordDraftButton
from agent_core.errors import InvalidInput
from agent_core.model.ids import AgentId

AGENT = AgentId("a1")


@pytest.mark.parametrize(
    ("button", "text"),
    [
        (DeleteButton(AGENT), "delete:a1"),
        (UploadButton(AGENT, "notes/a:b.md"), "upload:a1:notes/a:b.md"),
        (DiscordDraftButton("change", "k3"), "change:k3"),
    ],
)
def test_a_button_is_read_from_its_text(button: ColonSeparatedButton, text: str) -> None:
    assert (str(button), type(button).parse(text)) == (text, button)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (DeleteButton, "delete:"),
        (DeleteButton, "upload:a1:b"),
        (UploadButton, "upload:a1"),
        (UploadButton, "upload:a1:"),
        (DiscordDraftButton, "create:"),
        (DiscordDraftButton, "delete:a1"),
        (DiscordDraftButton, ""),
    ],
)
def test_any_other_text_is_refused(kind: type[ColonSeparatedButton], text: str) -> None:
    with pytest.raises(InvalidInput):
        kind.parse(text)
