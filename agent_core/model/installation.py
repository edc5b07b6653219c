"""A workspace of a chat platform that let Signoff in, and what it gave to come in with."""

from dataclasses import dataclass, field
from datetime import datetime

from agent_core.model.channels import SurfaceName


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Signoff in one workspace. `sealed` holds its tokens, and only the surface that sealed them can open it."""

    surface: SurfaceName
    workspace: str
    name: str
    sealed: str = field(repr=False)
    installed_at: datetime
