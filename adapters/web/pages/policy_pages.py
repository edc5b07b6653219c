"""Pages with the policies of an agent and a channel, and the standing rules: show, and save what was changed."""

from contextlib import suppress
from dataclasses import dataclass, replace

from aiohttp import web

from adapters.typed.form_values import FormValues, fields_of_policy, policy_of
from adapters.typed.policies import CHOICES, ChannelChange, channel_change, fields_of_channel, group_approver
from adapters.typed.standing_rules import (
    HOW_RULES,
    STILL_WAITS,
    Offered,
    chosen_offer,
    digest_of,
    parse_rule,
    rule_line,
    try_offers,
)
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
from agent_core.errors import InvalidInput, NotAllowed
from agent_core.model.channel_policy import ChannelPolicy
from agent_core.model.decision import PolicyChange
from agent_core.model.ids import TurnId
from agent_core.model.origin import Origin
from agent_core.service.standing_rules import RuleDraft

POLICY, CHANNEL_POLICY = f"{AGENT}/policy", f"{CHANNEL}/policy"
GROUPS = "groups"  # the field for names of groups at the provider of accounts
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
        origin = self.workspace.origin(request)
        shown = fields_of_channel(policy)
        chosen = fields_of_channel(_chosen_change(asked.given)(policy)) if asked.given else shown
        return await self.workspace.answer(
            request,
            "channel_policy.html",
            **asked.values,
            channel=channel,
            policy=policy,
            needs=CHOICES,
            saved="saved" in request.query,
            shown={f"{SHOWN}{name}": value for name, value in shown.items()},
            chosen=chosen,
            is_own=is_own(channel),
            can_change=is_own(channel) and _may_change(policy, origin),
            has_accounts=origin.has_account,
        )

    async def set_policy(self, request: web.Request) -> web.StreamResponse:
        form, origin = await form_of(request), self.workspace.own(request)
        await self.workspace.agent_settings.set_channel_policy(_channel_change(form, origin), origin)
        return redirect_to(f"{request.rel_url.raw_path}?saved=1")


def _may_change(policy: ChannelPolicy, origin: Origin) -> bool:
    """Whether the form is for this person; without accounts it is for everybody, also after such a person set it."""
    is_of_account = policy.set_by is None or policy.set_by.signed_in or policy.is_left_to_groups(origin.by)
    return origin.by.kind == "member" and not (
        origin.has_account and is_of_account and not policy.may_change(origin.by)
    )


def _chosen_change(form: FormValues) -> ChannelChange:
    """What the person changed of the policy that the form had shown, without names of groups."""
    wanted = {name: value for name, value in form.items() if name != GROUPS and not name.startswith(SHOWN)}
    return channel_change({name: value for name, value in wanted.items() if value != form.get(f"{SHOWN}{name}")})


def _channel_change(form: FormValues, origin: Origin) -> ChannelChange:
    """What the person changed; where people have accounts, also to groups."""
    change, groups = _chosen_change(form), form.get(GROUPS, "").strip(" ,")
    if not (groups and origin.has_account):
        return change
    approvers = tuple(dict.fromkeys(map(group_approver, groups.split(","))))
    return lambda present: replace(change(present), approvers=approvers)


RULES = f"{AGENT}/rules"


@dataclass(frozen=True, slots=True)
class RulesPage:
    """Shows the rules; makes one of those that the turn `?turn=` suggests, or a typed one; revokes one."""

    workspace: WebContext

    def get_routes(self) -> list[web.RouteDef]:
        return [web.get(RULES, self.page)]

    def post_routes(self) -> list[web.RouteDef]:
        return [web.post(RULES, with_errors_shown(self.change, self.page))]

    async def page(self, request: web.Request, asked: FormState = NOTHING) -> web.Response:
        channel, views = channel_of(request), self.workspace.views
        agent = await views.agent(channel, agent_id_of(request))
        rules, agents = await self.workspace.rules.list_rules(channel), await views.agents(channel)
        may = is_own(channel) and views.may_decide(agent, person_of(request))
        turn_id = asked.given.get("turn") or request.query.get("turn", "")
        return await self.workspace.answer(
            request,
            "rules.html",
            **asked.values,
            channel=channel,
            agent=agent,
            turn=turn_id,
            suggested=await self._try_offers(request, turn_id) if may and turn_id else (),
            digest_of=digest_of,
            still_waits=STILL_WAITS,
            habits=await self.workspace.rules.list_habits(channel, agent.id) if may and not turn_id else (),
            rules=[(rule, rule_line(rule, agents)) for rule in rules],
            how=HOW_RULES,
            saved="saved" in request.query,
            is_own=is_own(channel),
            can_decide=may,
        )

    async def change(self, request: web.Request) -> web.StreamResponse:
        form, origin = await form_of(request), self.workspace.own(request)
        rules, agent_id = self.workspace.rules, agent_id_of(request)
        if rule_id := form.get("revoke"):
            await rules.revoke(agent_id, rule_id, origin)
        else:
            await rules.make(agent_id, await self._read_rule(request, form), origin)
        return redirect_to(f"{request.rel_url.raw_path}?saved=1")

    async def _read_rule(self, request: web.Request, form: FormValues) -> RuleDraft:
        """The chosen suggestion with the limits beside it, or the typed rule."""
        if said := form.get("rule", "").strip().removeprefix("!").removeprefix("rules "):
            return parse_rule(said)
        if not form.get("turn"):
            raise InvalidInput({"rules": HOW_RULES})
        offered = await self._try_offers(request, form["turn"])
        return replace(chosen_offer(offered, form), is_for_all=bool(form.get("all")))

    async def _try_offers(self, request: web.Request, turn_id: str) -> Offered:
        """What the turn suggests and this person may make."""
        _, turn = await self.workspace.views.turn(channel_of(request), TurnId(turn_id))
        with suppress(NotAllowed):
            return await try_offers(self.workspace.rules, agent_id_of(request), turn, self.workspace.own(request))
        return ()
