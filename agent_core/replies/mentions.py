"""Detects JSON objects that prose only mentions: as an example, in a refusal, or in the middle of a sentence.

If a mention is taken for a proposal, people can reject it. If a proposal is taken for a mention, the model is asked
again.
"""

import re

CONTEXT_CHARACTERS = 400  # of prose on each side
TAG = re.compile(r"<[^<>]{0,80}>")
FENCE = re.compile(r"```\w*\s*\Z")
CLAUSE_END = re.compile(r"[.!?;:]\s|\n|\b(?:so|therefore|instead|hence)\b(?!\s+of)", re.IGNORECASE)
EXAMPLE = re.compile(
    r"\b(?:for example|for instance|as an example|example:|(?:an )?example (?:of|would|is|call|command)"
    r"|(?:would|could|might) be)\b|\be\.g\.|\bexample\Z",
    re.IGNORECASE,
)
WILL_NOT = (
    r"\b(?:(?:will|shall|should|must|can|may|would|do|am|['’]m) not|cannot|(?:wo|ca|should|must|would|do)n['’]t"
    r"|refuse to|decline to|unable to)\s+(?:(?:going|want|wish|able|allowed|willing|to|ever|just)\s+){0,3}"
)
IT_ALONE = r"(?:\s+(?:it|this|that|these|those|such)\b|\s*(?:[.!,;]|\Z))"
REFUSAL = re.compile(
    rf"{WILL_NOT}(?:(?:run|execute|issue|perform|comply)\b"
    r"|(?:do|use|call|send|give|propose) (?:this|that|these|those|so)\b)"
    r"|\bI (?:refuse|decline)\b",
    re.IGNORECASE,
)
REFUSAL_AFTER = re.compile(
    rf"{WILL_NOT}(?:run|execute|do|issue|perform|use|call|send|give|propose){IT_ALONE}", re.IGNORECASE
)
REFUSED_VERB = re.compile(rf"{WILL_NOT}(\w+)", re.IGNORECASE)
IGNORED = re.compile(r"\b(?:ignor|disregard)\w*\s+(?:it|this|that|these|them)\b|\binjection\b", re.IGNORECASE)
IDEA = re.compile(
    r"\b(?:could|would|might|may|perhaps|maybe|options?|possible|possibility|something like|idea)\b", re.IGNORECASE
)
TURN = re.compile(r"\b(?:so|instead|therefore|hence)\b(?!\s+of)", re.IGNORECASE)
IN_SENTENCE = re.compile(r"\w[^\w\n]+\w+[\s,]*\Z")
GOES_ON = re.compile(r"[ \t`'\"”’)]*[,;–—-]?[ \t]*([^\W\d_])")


def is_mention(before: str, after: str, command: str = "") -> bool:
    """Whether the prose `before` and `after` an object only mentions it, so that it is not the model's answer.

    `command`: the name of the command in the object. "I cannot delete files" refuses `delete_file`, not `list_files`.
    """
    lead, follow_up = _leading_prose(before), TAG.sub(" ", after[:CONTEXT_CHARACTERS])
    clause = CLAUSE_END.split(lead.rstrip(".!?:"))[-1]
    return (
        EXAMPLE.search(clause) is not None
        or _is_refused(lead, command)
        or REFUSAL_AFTER.search(follow_up) is not None
        or IGNORED.search(follow_up) is not None
        or ("?" in follow_up and IDEA.search(clause) is not None)
        or _is_in_a_sentence(before, follow_up)
    )


def refuses(text: str) -> bool:
    """Whether the text says that a command will not be run."""
    return REFUSAL.search(text) is not None or REFUSAL_AFTER.search(text) is not None


def _leading_prose(before: str) -> str:
    """The prose before an object, without tags, fence and opening quotes."""
    prose = TAG.sub(" ", before[-CONTEXT_CHARACTERS:]).rstrip()
    return FENCE.sub("", prose).rstrip(" \t\r\n`*_-\"'“‘(")


def _is_refused(lead: str, command: str) -> bool:
    own = [found for found in REFUSED_VERB.finditer(lead) if found[1].casefold() in command.casefold().split("_")]
    refusals = sorted((*REFUSAL.finditer(lead), *own), key=lambda found: found.end())
    return bool(refusals) and not TURN.search(lead, refusals[-1].end())


def _is_in_a_sentence(before: str, after: str) -> bool:
    """Whether the object stands inside a sentence, which goes on after the object or is followed by a question."""
    line = before.rstrip(" \t`\"'“‘(").rpartition("\n")[2]
    if not IN_SENTENCE.search(line):
        return False
    following = GOES_ON.match(after)
    return "?" in after or (following is not None and following[1].islower())
