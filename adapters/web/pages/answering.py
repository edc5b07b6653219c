"""Sends a filled-in form to a tool server that asks; a refused form is shown again with what was typed."""

from aiohttp import web

from adapters.screens.buttons import Button
from adapters.screens.question_form import sent_texts
from adapters.typed.actions import FormInput
from adapters.typed.form_values import FormValues
from adapters.web.page_context import WebContext
from agent_core.errors import InvalidInput
from agent_core.model.ids import TurnId
from agent_core.model.origin import Origin


async def send_answer(
    workspace: WebContext, request: web.Request, form: FormValues, button: Button, origin: Origin
) -> web.Response | None:
    """Answer with the form; return the page of a refused form, None if it was sent."""
    agent, turn = await workspace.views.turn(origin.channel, TurnId(button.subject))
    written = sent_texts(turn, form)
    try:
        await workspace.actions.press(button, FormInput(arguments=written), origin)
    except InvalidInput as wrong:
        return await workspace.answer(
            request,
            "answer.html",
            status=422,
            said=" ".join(wrong.problems.values()),
            channel=origin.channel,
            agent=agent,
            turn=turn,
            written=written,
            problems=wrong.problems,
            sends_to=form.get("to", ""),
        )
    return None
