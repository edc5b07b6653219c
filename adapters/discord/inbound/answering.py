"""Opens Discord's form in which people answer a tool server, and sends what they wrote; a refused form is kept."""

from dataclasses import replace

from discord import ui

from adapters.chat.agent_messages import refused_screen
from adapters.discord.inbound.context import DiscordContext
from adapters.discord.inbound.submitted_forms import AnswerForm
from adapters.discord.outbound.draw import draw
from adapters.discord.outbound.forms import draw_form
from adapters.discord.outbound.message import DiscordMessage
from adapters.screens.buttons import Button
from adapters.screens.question_form import question_form, sent_texts
from adapters.typed.actions import FormInput
from agent_core.errors import InvalidInput, NotPossible
from agent_core.model.ids import TurnId
from agent_core.model.origin import Origin


async def answer_modal(context: DiscordContext, button: Button, origin: Origin) -> ui.Modal:
    """The form for this person; raise NotAllowed, AlreadyDecided or NotPossible if they cannot answer."""
    questions = context.service.server_questions
    _, turn = await questions.open_to(origin.by, origin.channel, TurnId(button.subject), button.shown)
    typed = await context.forms.find(origin, button.shown)
    form = question_form(turn, typed.fields if typed else None)
    if form is None:
        raise NotPossible("Nothing is asked any more.")
    return draw_form(form.refused(typed.problems if typed else {}))


async def send_answer(context: DiscordContext, sent: AnswerForm, origin: Origin) -> DiscordMessage | None:
    """Answer with what was filled in; if a field is wrong, keep it all, and return a message with the problems."""
    agent, turn = await context.views.turn(origin.channel, TurnId(sent.button.subject))
    texts = sent_texts(turn, sent.values)
    try:
        await context.actions.press(sent.button, FormInput(arguments=texts), origin)
    except InvalidInput as error:
        form = replace(context.forms.blank(origin, sent.button.shown), agent_id=agent.id)
        await context.forms.save(replace(form, fields=texts, problems=error.problems))
        return draw(refused_screen(error.problems, sent.button))
    return None
