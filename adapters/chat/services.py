"""The services of the core that the listeners of every chat platform call."""

from dataclasses import dataclass, field

from adapters.chat.background import BackgroundTasks
from adapters.typed.actions import ActionDispatcher
from adapters.typed.agent_templates import AgentTemplates, load_templates
from agent_core.ports.clock import Clock
from agent_core.service.agents import AgentService
from agent_core.service.creating.drafting import AgentDrafting
from agent_core.service.creating.tour import TourStarter
from agent_core.service.housekeeping.inbound_log import InboundLog
from agent_core.service.reading.views import AgentViews
from agent_core.service.uploads import FileUploads


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatServices:
    """The core services that all chat platforms use. The context of each platform adds what that needs."""

    actions: ActionDispatcher
    service: AgentService
    views: AgentViews
    drafting: AgentDrafting
    uploads: FileUploads
    tour: TourStarter
    inbound_log: InboundLog
    soon: BackgroundTasks
    clock: Clock
    templates: AgentTemplates = field(default_factory=load_templates)
