"""The page with a channel's standing rules: what a turn suggests, a rule as typed, and what there is to revoke."""

from dataclasses import dataclass, replace

from aiohttp import web

from adapters.typed.form_values import FormValues
from adapters.typed.standing_rules import HOW_RULES, offers, parse_rule, rule_line, with_limits
from adapters.web.identity import person_of
from adapters.web.page_context import WebContext
from adapters.web.pages.form_pages import NOTHING, FormState, with_errors_shown
from adapters.web.requests import AGENT, agent_id_of, channel_of, form_of, is_own, redirect_to
from agent_core.errors import InvalidInput
from agent_core.model.ids import TurnId
from agent_core.service.standing_rules import MadeRule, RuleDraft

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
            suggested=await self._suggested(request, turn_id) if may and turn_id else (),
            rules=[(rule, rule_line(rule, agents)) for rule in rules],
            how=HOW_RULES,
            is_own=is_own(channel),
            can_decide=may,
        )

    async def change(self, request: web.Request) -> web.StreamResponse:
        form, origin = await form_of(request), self.workspace.own(request)
        rules, agent_id = self.workspace.rules, agent_id_of(request)
        if rule_id := form.get("revoke"):
            await rules.revoke(agent_id, rule_id, origin)
        else:
            await rules.make(agent_id, await self._wanted(request, form), origin)
        return redirect_to(request.rel_url.raw_path)

    async def _wanted(self, request: web.Request, form: FormValues) -> RuleDraft:
        """The chosen suggestion with the limits beside it, or the typed rule."""
        if said := form.get("rule", "").strip():
            effect, _, rest = said.partition(" ")
            if effect not in ("allow", "never"):
                raise InvalidInput({"rules": HOW_RULES})
            return parse_rule("allow" if effect == "allow" else "never", rest)
        drafts = await self._offers(request, form.get("turn", ""))
        chosen = form.get("suggested", "")
        if not (chosen.isdecimal() and int(chosen) < len(drafts)):
            raise InvalidInput({"rules": "Choose one of the rules, or write one."})
        limits = "; ".join(filter(None, (form.get("times", "") and f"for {form['times']}", form.get("until", ""))))
        return replace(with_limits(drafts[int(chosen)], limits), is_for_all=bool(form.get("all")))

    async def _offers(self, request: web.Request, turn_id: str) -> tuple[RuleDraft, ...]:
        _, turn = await self.workspace.views.turn(channel_of(request), TurnId(turn_id))
        return offers(turn)

    async def _suggested(self, request: web.Request, turn_id: str) -> list[tuple[int, MadeRule]]:
        """What the turn suggests and may be made, each with past turns that it would have covered."""
        found: list[tuple[int, MadeRule]] = []
        for number, draft in enumerate(await self._offers(request, turn_id)):
            try:
                origin = self.workspace.own(request)
                found.append((number, await self.workspace.rules.try_out(agent_id_of(request), draft, origin)))
            except InvalidInput:
                continue
        return found
