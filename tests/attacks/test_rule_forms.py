"""The form of a card for a standing rule: pressed and sent by who may not, forged, or sent too late."""

from dataclasses import dataclass, replace

import pytest

from adapters.screens.buttons import ViewButton
from adapters.typed.standing_rules import Offered, RuleCommands, digest_of
from agent_core.errors import ChangedSinceShown, InvalidInput, NotAllowed
from agent_core.model.origin import ActorKind
from agent_core.model.turn import Turn
from agent_core.testing.examples import BEN, CHANNEL
from agent_core.testing.stage import Stage
from tests.attacks.rows import attack
from tests.unit.adapters.test_rule_form import with_arguments
from tests.unit.agent_core.service.test_channel_policy import Team


@dataclass(frozen=True, slots=True)
class OpenForm:
    """The form for a rule, open before Ana."""

    stage: Stage
    rules: RuleCommands
    button: ViewButton
    offered: Offered

    @property
    def filled(self) -> dict[str, str]:
        """The narrowest rule is chosen."""
        return {"suggested": digest_of(self.offered[0][1])}

    async def saved(self) -> int:
        """How many rules there are."""
        return len(await self.stage.rules.list_rules(CHANNEL))


async def opened() -> tuple[OpenForm, Turn]:
    team = Team()
    _, turn = await team.opened()
    rules = RuleCommands(rules=team.stage.rules, views=team.stage.views)
    button = ViewButton("always allow", turn.id, shown=turn.control_hash)
    return OpenForm(team.stage, rules, button, (await rules.find_offers(button, team.stage.origin()))[1]), turn


@pytest.mark.proves("rules:card")
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=attack("approval", f"{who} presses Always allow… and sends a forged form", "refused"))
        for kind, who in (("guest", "A guest"), ("external", "A person of another organisation"))
    ],
)
async def test_who_may_not_approve_opens_and_sends_no_form_for_a_rule(kind: ActorKind, answer: str) -> None:
    form, _ = await opened()
    origin = form.stage.origin(replace(BEN, id="u-gus", kind=kind))
    with pytest.raises(NotAllowed):
        await form.rules.find_offers(form.button, origin)
    with pytest.raises(NotAllowed):
        await form.rules.make_offered(form.button, form.filled, origin)
    assert await form.saved() == 0, answer


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param(forged, marks=attack("approval", f"The form for a rule is sent with {what}", "refused"))
        for forged, what in (
            ({"suggested": "1"}, "the place of a rule"),
            ({"suggested": "0" * 32}, "the mark of a rule that it did not offer"),
            ({"times": "5; all agents"}, "a second part behind the number"),
            ({"until": "2099-12-24; all agents"}, "a second part behind the day"),
            ({"times": "0"}, "a number that would stand for any"),
        )
    ],
)
async def test_a_forged_form_makes_no_rule(forged: dict[str, str], answer: str) -> None:
    form, _ = await opened()
    with pytest.raises(InvalidInput):
        await form.rules.make_offered(form.button, {**form.filled, **forged}, form.stage.origin())
    assert await form.saved() == 0, answer


@attack("approval", "A form for a rule is sent after the proposal on its card changed", "refused: turn 1 changed")
async def test_a_form_that_was_opened_on_another_proposal_makes_no_rule(answer: str) -> None:
    form, turn = await opened()
    await with_arguments(form.stage, turn, {**turn.call.arguments, "filename": "docs/other.txt"})
    for button in (form.button, replace(form.button, shown="")):
        with pytest.raises(ChangedSinceShown) as refused:
            await form.rules.make_offered(button, form.filled, form.stage.origin())
        assert "turn 1 changed" in str(refused.value), answer
    assert await form.saved() == 0
