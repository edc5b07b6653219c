"""Opens Slack's form in which people answer a tool server, from a card or the Home tab, and sends what they wrote."""

from collections.abc import Mapping
from typing import Any

from adapters.screens.buttons import Button
from adapters.screens.question_form import question_form, sent_texts
from adapters.slack.inbound.context import SlackContext
from adapters.slack.inbound.submitted_forms import fields_in
from adapters.slack.outbound.forms import draw_form
from adapters.typed.actions import FormInput
from agent_core.errors import NotPossible
from agent_core.model.ids import TurnId
from agent_core.model.origin import Origin


async def answer_view(context: SlackContext, button: Button, origin: Origin, thread: str = "") -> dict[str, Any]:
    """The form for this person; raise NotAllowed, AlreadyDecided or NotPossible if they cannot answer."""
    questions = context.service.server_questions
    _, turn = await questions.open_to(origin.by, origin.channel, TurnId(button.subject), button.shown)
    form = question_form(turn)
    if form is None:
        raise NotPossible("Nothing is asked any more.")
    return draw_form(form, origin.channel.key, thread)


async def send_answer(context: SlackContext, view: Mapping[str, Any], button: Button, origin: Origin) -> None:
    """Answer with what was filled in."""
    _, turn = await context.views.turn(origin.channel, TurnId(button.subject))
    await context.actions.press(button, FormInput(arguments=sent_texts(turn, fields_in(view))), origin)
