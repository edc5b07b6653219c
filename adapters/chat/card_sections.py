"""The full content of a turn as labelled texts, in reading order: headline, thoughts, command."""

from adapters.screens.cards import Card, Labelled


def thoughts_sections(card: Card) -> tuple[Labelled, ...]:
    """The model's thoughts about its command, the most important first."""
    spoken = (Labelled("Thoughts", card.says), Labelled("Plan", "\n".join(card.plan)), *card.details)
    apart = (Labelled("Self-review", card.review), Labelled("The model's own reasoning", card.model_reasoning))
    return tuple(part for part in (*spoken, *apart) if part.text)


def headline_sections(card: Card) -> tuple[Labelled, ...]:
    """The headline with the state, the thoughts, why the card is shown again, and what a person changed."""
    notes = (Labelled("Remark", card.remark), Labelled("Changes", card.edits))
    return (Labelled(card.headline, card.standing), *thoughts_sections(card), *(part for part in notes if part.text))


def command_sections(card: Card, argument_label: str = "{}") -> tuple[Labelled, ...]:
    """Changes by a person, all arguments, preview, result. `argument_label`: the format of an argument's label."""
    arguments = (Labelled(argument_label.format(part.label), part.text) for part in card.arguments)
    preview = (Labelled(f"Preview: {card.preview.title}", card.preview.body),) if card.preview else ()
    result = (Labelled("Result", card.outcome),) if card.outcome else ()
    return (*card.changes, *arguments, *preview, *result)
