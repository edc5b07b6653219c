"""Pages with the forms of an agent's and a channel's policy: show each, and save only what the person changed."""

from dataclasses import dataclass

from aiohttp import web

from adapters.typed.channel_policy import CHOICES, ChannelChange, channel_change, fields_of_channel
from adapters.typed.form_values import FormValues, fields_of_policy, policy_of
from adapters.web.identity import person_of
from adapters.web.page_context import WebContext
from adapters.web.pages.form_pages import NOTHING, FormState, with_errors_shown
from adapters.web.requests import (
    AGENT,
    CHANNEL,
    agent_id_of,
    channel_of,
    form_of,
    is_own,
    redirect_to,
    redirect_to_parent,
)
from agent_core.model.decision import PolicyChange

POLICY, CHANNEL_POLICY = f"{AGENT}/policy", f"{CHANNEL}/policy"
SHOWN = "shown."  # before the names of the hidden fields with the policy that the form showed


@dataclass(frozen=True, slots=True)
class PolicyPage:
    """Shows the form, and changes what the person changed in it: what others changed meanwhile stays."""

    workspace: WebContext

    def get_routes(self) -> list[web.RouteDef]:
        return [web.get(POLICY, self.page)]

    def post_routes(self) -> list[web.RouteDef]:
        return [web.post(POLICY, with_errors_shown(self.set_policy, self.page))]

    async def page(self, request: web.Request, asked: FormState = NOTHING) -> web.Response:
        """The form with the present policy; after a refusal with what the person changed, on top of the present one."""
        channel = channel_of(request)
        agent = await self.workspace.views.agent(channel, agent_id_of(request))
        present = fields_of_policy(agent.policy)
        chosen = fields_of_policy(_change(asked.given).apply(agent.policy)) if asked.given else present
        return await self.workspace.answer(
            request,
            "policy.html",
            **asked.values,
            channel=channel,
            agent=agent,
            shown={f"{SHOWN}{name}": value for name, value in present.items()},
            chosen=chosen,
            is_own=is_own(channel),
            can_decide=is_own(channel) and self.workspace.views.may_decide(agent, person_of(request)),
        )

    async def set_policy(self, request: web.Request) -> web.StreamResponse:
        form, origin = await form_of(request), self.workspace.own(request)
        await self.workspace.agent_settings.set_policy(agent_id_of(request), _change(form), origin)
        return redirect_to_parent(request)


def _change(form: FormValues) -> PolicyChange:
    """What the person changed of the policy that the form had shown."""
    shown = {name.removeprefix(SHOWN): value for name, value in form.items() if name.startswith(SHOWN)}
    return PolicyChange.between(policy_of(shown), policy_of(form))


@dataclass(frozen=True, slots=True)
class ChannelPolicyPage:
    """Shows the form of the channel's policy, and changes in it what the person changed."""

    workspace: WebContext

    def get_routes(self) -> list[web.RouteDef]:
        return [web.get(CHANNEL_POLICY, self.page)]

    def post_routes(self) -> list[web.RouteDef]:
        return [web.post(CHANNEL_POLICY, with_errors_shown(self.set_policy, self.page))]

    async def page(self, request: web.Request, asked: FormState = NOTHING) -> web.Response:
        channel = channel_of(request)
        policy = await self.workspace.agent_settings.channel_policy(channel)
        shown = fields_of_channel(policy)
        chosen = fields_of_channel(_channel_change(asked.given)(policy)) if asked.given else shown
        return await self.workspace.answer(
            request,
            "channel_policy.html",
            **asked.values,
            channel=channel,
            policy=policy,
            needs=CHOICES,
            shown={f"{SHOWN}{name}": value for name, value in shown.items()},
            chosen=chosen,
            is_own=is_own(channel),
            can_change=is_own(channel) and person_of(request).kind == "member",
        )

    async def set_policy(self, request: web.Request) -> web.StreamResponse:
        form, origin = await form_of(request), self.workspace.own(request)
        await self.workspace.agent_settings.set_channel_policy(_channel_change(form), origin)
        return redirect_to(request.rel_url.raw_path)


def _channel_change(form: FormValues) -> ChannelChange:
    """What the person changed of the policy that the form had shown."""
    wanted = {name: value for name, value in form.items() if not name.startswith(SHOWN)}
    return channel_change({name: value for name, value in wanted.items() if value != form.get(f"{SHOWN}{name}")})
