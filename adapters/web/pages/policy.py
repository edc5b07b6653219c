"""The page with the form of an agent's policy, apart from the thread, which changes while people fill a form in."""

from dataclasses import dataclass

from aiohttp import web

from adapters.typed.form_values import FormValues, fields_of_policy, policy_of
from adapters.web.identity import person_of
from adapters.web.page_context import WebContext
from adapters.web.pages.form_pages import NOTHING, FormState, with_errors_shown
from adapters.web.requests import AGENT, agent_id_of, channel_of, form_of, is_own, redirect_to_parent
from agent_core.model.decision import PolicyChange

POLICY = f"{AGENT}/policy"
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
