"""All of the replies."""

from tests.unit.agent_core.replies.cut_off import CUT_OFF
from tests.unit.agent_core.replies.readable import READABLE
from tests.unit.agent_core.replies.unusable import UNUSABLE

REFUSED = (*UNUSABLE, *CUT_OFF)
CORPUS = (*READABLE, *REFUSED)
