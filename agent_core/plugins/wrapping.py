"""Runs a command once inside a plugin's wrapper, and tells a plugin of a turn; one that fails is put aside."""

import asyncio
from copy import deepcopy
from dataclasses import dataclass, replace

from agent_core.model.agent import Agent
from agent_core.model.command import CommandCall, Failed, Result, Succeeded
from agent_core.model.decision import Approval, ApproveEdited
from agent_core.model.turn import Turn
from agent_core.plugins.loaded import NOT_OF_PLUGINS, LoadedPlugin, require_not_cancelled
from agent_core.plugins.plugin import RunOnce
from agent_core.toolset.registry import CommandContext


@dataclass(slots=True)
class OneRun:
    """The run that a wrapper may begin once, as long as it is awaited by its `owner`.

    `failure`: what the run itself raised; that belongs to the command, not to the wrapper.
    `elsewhere`: the run, if the wrapper began it in another task.
    """

    following: RunOnce
    owner: "asyncio.Task[object] | None"
    is_open: bool = True
    result: Result | None = None
    failure: BaseException | None = None
    elsewhere: "asyncio.Task[Result] | None" = None
    is_begun: bool = False

    async def run(self) -> Result:
        """Run it; raise RuntimeError the second time and after the wrapper, CancelledError while the task ends."""
        require_not_cancelled(self.owner)
        if not self.is_open:
            raise RuntimeError("run() was called after the wrapper had ended")
        if self.is_begun:
            raise RuntimeError("run() was called twice; the command ran once")
        self.is_begun = True
        if asyncio.current_task() is self.owner:
            return await self._run()
        self.elsewhere = asyncio.create_task(self._run())
        return await self.elsewhere

    async def close(self) -> None:
        """Let nothing begin any more, and end what nobody awaits."""
        self.is_open = False
        if self.elsewhere and not self.elsewhere.done():
            self.elsewhere.cancel()
            await asyncio.wait([self.elsewhere])

    async def _run(self) -> Result:
        try:
            self.result = await self.following()
        except BaseException as failure:
            task = asyncio.current_task()
            is_cut_short = isinstance(failure, asyncio.CancelledError) and task and task.cancelling()
            self.failure = None if is_cut_short else failure
            raise
        return self.result


async def run_inside(loaded: LoadedPlugin, call: CommandCall, context: CommandContext, following: RunOnce) -> Result:
    """Run a command inside one wrapper. It runs once, and if the wrapper fails, as if it were not there."""
    one = OneRun(following, asyncio.current_task())
    given: Result | BaseException
    try:
        given = _require_result(await loaded.plugin.wrap_run(_copied(call), context, one.run))
    except NOT_OF_PLUGINS:
        raise
    except BaseException as failure:
        given = failure
    finally:
        await one.close()
    require_not_cancelled(one.owner)
    if one.failure is not None:
        raise one.failure
    if not isinstance(given, BaseException):
        return replace(given, outside=True) if one.result and one.result.outside else given
    loaded.put_aside(f"wrapping {call.name}", given)
    if not one.is_begun:
        return await following()
    return one.result or Failed(
        f"The plugin {loaded.name} ended {call.name} before its end: look whether it took effect."
    )


async def tell(loaded: LoadedPlugin, agent: Agent, turn: Turn, seconds: float) -> None:
    """Tell one plugin of a turn, for at most `seconds`."""
    task = asyncio.current_task()
    try:
        async with asyncio.timeout(seconds):
            await loaded.plugin.observe_turn(agent, _copied_turn(turn))
    except NOT_OF_PLUGINS:
        raise
    except BaseException as failure:
        require_not_cancelled(task)
        loaded.put_aside("observing a turn", failure)
    require_not_cancelled(task)


def _require_result(given: object) -> Succeeded | Failed:
    """What a wrapper returned; raise TypeError if it is no result that a run can have."""
    match given:
        case Failed(error=str(), outside=bool()):
            return given
        case Succeeded(output=str(), files=tuple(files), outside=bool()) if {*map(type, files)} <= {str}:
            return given
        case _:
            raise TypeError(f"it returned no usable result, but {type(given).__name__}")


def _copied(call: CommandCall) -> CommandCall:
    """The call with arguments of its own, which a plugin may change."""
    return CommandCall(call.name, deepcopy(dict(call.arguments)))


def _copied_turn(turn: Turn) -> Turn:
    """The turn with arguments of its own; everything else in it is immutable."""
    proposal = replace(turn.proposal, call=_copied(turn.proposal.call))
    return replace(turn, proposal=proposal, approvals=tuple(map(_copied_approval, turn.approvals)))


def _copied_approval(approval: Approval) -> Approval:
    if not isinstance(approval.decision, ApproveEdited):
        return approval
    return replace(approval, decision=replace(approval.decision, arguments=deepcopy(dict(approval.decision.arguments))))
