"""Turns submitted Slack views into calls of the services; a refused one stays open with its input and errors."""

from dataclasses import dataclass, replace

from adapters.chat.refusals import RefusedAction, attempt
from adapters.chat.texts import creation_text
from adapters.screens.buttons import Button, ViewButton
from adapters.slack.inbound import submitted_forms
from adapters.slack.inbound.answering import send_answer
from adapters.slack.inbound.context import Ack, SlackContext
from adapters.slack.inbound.inbound_event import Body, SlackEvent, of_submission
from adapters.slack.inbound.prompts import SlackPrompts
from adapters.slack.inbound.submitted_forms import FormContext
from adapters.slack.outbound.blocks import Block
from adapters.slack.outbound.views import sentence_view
from adapters.typed.actions import FormInput
from adapters.typed.form_values import argument_names
from adapters.typed.policies import change_of_form
from adapters.typed.schedule_commands import create_of_form
from agent_core.errors import InvalidInput, SurfaceError
from agent_core.model.agent import Agent
from agent_core.model.ids import TurnId
from agent_core.model.origin import ChannelScope, Origin

MADE_ELSEWHERE = "was created. Its thread opens in the channel you chose as soon as Signoff is a member there."


@dataclass(frozen=True, slots=True)
class SlackModalListener:
    """Handles view submissions; `response_action: errors` shows problems next to the fields."""

    context: SlackContext

    async def submit(self, ack: Ack, body: Body, workspace: str) -> None:
        view = body["view"]
        match await attempt(self._carry_out(body, view, workspace)):
            case RefusedAction(error=InvalidInput() as error):
                await self._give_back(ack, await self._errors(view, error))
            case RefusedAction(text):
                await self._give_back(ack, submitted_forms.errors_of(view, {"": text}), text)
            case None:
                await ack()
            case shown:
                await ack(response_action="update", view=shown)

    async def _carry_out(self, body: Body, view: Body, workspace: str) -> Block | None:
        """Do what the form is for; return what is shown in its place, or None if it closes."""
        if view["callback_id"] == "signoff.new":
            await self._create(body, view, workspace)
            return None
        place = submitted_forms.place_of(view)
        origin = await self.context.origin_in(of_submission(body, workspace, place.scope.channel), place.scope)
        match view["callback_id"]:
            case "signoff.edit":
                _, turn = await self.context.views.turn(origin.channel, _turn_in(place))
                spec = self.context.views.spec(turn.proposal.call.name)
                filled = FormInput(arguments=submitted_forms.changed_arguments(view, turn, spec))
                await self.context.actions.press(Button.parse(place.about), filled, origin)
            case "signoff.answer":
                await send_answer(self.context, view, Button.parse(place.about), origin)
            case "signoff.reject":
                filled = FormInput(text=submitted_forms.text_of(view))
                await self.context.actions.press(Button.parse(place.about), filled, origin)
            case "signoff.times":
                button = replace(Button.parse(place.about), times=submitted_forms.number_of(view))
                await self.context.actions.press(button, FormInput(), origin)
            case "signoff.policy" | "signoff.rule":
                return await self._permit(view, place, origin)
            case "signoff.prompt":
                return await SlackPrompts(self.context).submit(view, origin)
            case _:
                pass
        return None

    async def _permit(self, view: Body, place: FormContext, origin: Origin) -> Block:
        """Set the policy of the channel, or make a rule; return a view that says what holds now."""
        commands, fields = self.context.actions.management_commands, submitted_forms.fields_in(view)
        if view["callback_id"] == "signoff.rule":
            made = await commands.rules.make_offered(ViewButton.parse(place.about), fields, origin)
            return sentence_view("Always allow", made)
        return sentence_view("Policy", await commands.channel_policy.set(change_of_form(place.about, fields), origin))

    async def _create(self, body: Body, view: Body, workspace: str) -> None:
        place = submitted_forms.place_of(view)
        channel = (
            place.scope if place.channel else ChannelScope("slack", workspace, submitted_forms.chosen_channel(view))
        )
        event = of_submission(body, workspace, channel.channel, place.thread)
        origin = await self.context.origin_in(event, channel)  # the form may be old, or its channel made up
        agent = await create_of_form(self.context.service, submitted_forms.fields_in(view), origin)
        self.context.soon(self._tell_of(event, agent))

    async def _tell_of(self, event: SlackEvent, agent: Agent) -> None:
        """Tell the person where the agent is; by direct message if Signoff may not write in the channel."""
        try:
            await self.context.tell(event, creation_text(agent))
        except SurfaceError:
            await self.context.surface.say_to(event.workspace, event.person, f"{agent.name} {MADE_ELSEWHERE}")

    async def _errors(self, view: Body, error: InvalidInput) -> dict[str, str]:
        """The error messages by block id. An edit form's errors name arguments: each argument's block is looked up."""
        if view["callback_id"] != "signoff.edit":
            return submitted_forms.errors_of(view, error.problems)
        place = submitted_forms.place_of(view)
        _, turn = await self.context.views.turn(place.scope, _turn_in(place))
        names = argument_names(turn, self.context.views.spec(turn.proposal.call.name))
        return submitted_forms.errors_of(view, error.problems, names)

    async def _give_back(self, ack: Ack, errors: dict[str, str], said: str = "") -> None:
        if errors:
            await ack(response_action="errors", errors=errors)
        else:
            await ack(response_action="update", view=sentence_view("Not done", said or "This form cannot be used."))


def _turn_in(place: FormContext) -> TurnId:
    return TurnId(Button.parse(place.about).subject)
