"""An installation of Signoff in a workspace of a chat platform, with its encrypted tokens."""

from dataclasses import dataclass, field
from datetime import datetime

from agent_core.model.channels import SurfaceName


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Signoff in one workspace. `sealed` holds the tokens, encrypted; only the surface can decrypt them."""

    surface: SurfaceName
    workspace: str
    name: str
    sealed: str = field(repr=False)
    installed_at: datetime
