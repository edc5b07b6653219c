"""What people do on the board: presses, forms, lines and `/agent`, each one call of the services."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adapters.chat.services import ChatServices
from adapters.chat.subcommand_answers import run_subcommand
from adapters.screens.buttons import Button
from adapters.screens.forms import agent_form, edit_form, reason_form
from adapters.typed.actions import ActionDispatcher, FormInput
from adapters.typed.form_values import argument_names, draft_of, edited_arguments
from adapters.typed.subcommands import NewForm, subcommand_of
from adapters.typed.typed_text import typed
from agent_core.model.agent import Agent
from agent_core.model.ids import TurnId
from agent_core.model.origin import Origin
from agent_core.model.turn import SeenProposal
from agent_core.service.reading.views import AgentViews
from tests.toy_platform.draw import ToyForm, ToyMessage, draw, draw_form


@dataclass(frozen=True, slots=True)
class ToyListener:
    """Carries out what people do; raises PersonError if it is refused."""

    services: ChatServices

    @property
    def actions(self) -> ActionDispatcher:
        return self.services.actions

    @property
    def views(self) -> AgentViews:
        return self.services.views

    async def on_slash(self, text: str, origin: Origin) -> ToyForm | ToyMessage:
        """`/agent …`: the form for a new agent, or an answer."""
        wanted = subcommand_of(text)
        if isinstance(wanted, NewForm):
            return draw_form(agent_form({}, origin.channel.key))
        answer = await run_subcommand(wanted, origin, self.services, lambda _: "", lambda *_: None)  # type: ignore[arg-type]  # other subcommands open forms
        return ToyMessage(answer, {}) if isinstance(answer, str) else draw(answer)

    async def on_press(self, value: str, origin: Origin) -> ToyForm | None:
        """A pressed button; Edit and Reject open a form."""
        button = Button.parse(value)
        if button.verb not in ("edit", "reject"):
            await self.actions.press(button, FormInput(), origin)
            return None
        _, turn = await self.views.open_to(origin.by, origin.channel, TurnId(button.subject), button.shown)
        form = reason_form(turn, value) if button.verb == "reject" else edit_form(turn, self.views.spec(turn.call.name))
        return draw_form(form)

    async def on_form(self, form: ToyForm, filled: Mapping[str, str], origin: Origin) -> None:
        """A form that was sent, with what was filled in."""
        fields = {**form.fields, **filled}
        if form.kind == "new":
            await self.services.service.lifecycle.create(draft_of(fields), origin)
            return
        button = Button.parse(form.about)
        if button.verb == "reject":
            await self.actions.press(button, FormInput(text=fields["text"]), origin)
            return
        _, turn = await self.views.turn(origin.channel, TurnId(button.subject))
        spec = self.views.spec(turn.call.name)
        named = dict(zip(argument_names(turn, spec), fields.values(), strict=True))
        await self.actions.press(button, FormInput(arguments=edited_arguments(named, {}, turn, spec)), origin)

    async def on_line(self, agent: Agent, text: str, origin: Origin, shown: Sequence[str]) -> str:
        """A line in an agent's thread, by somebody who sees the cards `shown`; returns what only its writer is told."""
        seen = SeenProposal(hashes=shown)
        return (await self.actions.say(agent.id, typed(text), origin, seen)).text
