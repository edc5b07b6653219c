"""All of the replies."""

from tests.unit.replies.cut_off import CUT_OFF
from tests.unit.replies.readable import READABLE
from tests.unit.replies.unusable import UNUSABLE

REFUSED = (*UNUSABLE, *CUT_OFF)
CORPUS = (*READABLE, *REFUSED)
