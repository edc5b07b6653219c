"""Builds the objects that surfaces need, from a stage."""

from dataclasses import replace

from adapters.typed.actions import ActionDispatcher
from adapters.typed.management_commands import ManagementCommands
from adapters.typed.notification_commands import NotificationCommands, notifications_of
from adapters.typed.policies import ChannelPolicyCommands
from adapters.typed.schedule_commands import ScheduleCommands
from adapters.typed.standing_rules import RuleCommands
from agent_core.service.agents import AgentService
from agent_core.service.creating.creation import CreationLimits
from agent_core.testing.stage import Stage


def actions_of(stage: Stage) -> ActionDispatcher:
    """The dispatcher of what people press and type."""
    return ActionDispatcher(
        service=stage.service,
        views=stage.views,
        management_commands=ManagementCommands(
            views=stage.views,
            agent_settings=stage.agent_settings,
            memories=stage.memories,
            notifications=NotificationCommands.of(stage.notifications, stage.loop.surfaces.values()),
            rules=RuleCommands(rules=stage.rules, views=stage.views),
            schedules=ScheduleCommands(schedules=stage.service.schedules),
            channel_policy=ChannelPolicyCommands(
                settings=stage.agent_settings, surfaces=notifications_of(stage.loop.surfaces.values())
            ),
            uploads=stage.uploads,
            forks=stage.service.forks,
        ),
        review=stage.review,
    )


def with_limits(stage: Stage, limits: CreationLimits) -> AgentService:
    """The service of a stage, with other limits for new agents."""
    return replace(stage.service, lifecycle=replace(stage.service.lifecycle, limits=limits))
