"""The sentence for a person whose action failed through no fault of theirs."""

from agent_core.errors import CommitUnknown, DatabaseAway

WENT_WRONG = "Something went wrong inside Signoff; the log says what. Nothing was decided: try again."
AWAY = "Signoff cannot reach its database now. Nothing was decided: try again."
MAYBE_SAVED = "Signoff's database went away while this was saved. Look whether it took effect before you try again."


def fault_text(error: Exception) -> str:
    """What is known of the action: that it had no effect, or that it may have had one."""
    match error:
        case CommitUnknown():
            return MAYBE_SAVED
        case DatabaseAway():
            return AWAY
        case _:
            return WENT_WRONG
