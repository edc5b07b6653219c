"""What a browser would send of a form of a page, some of whose fields a person filled in by their labels."""

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass(slots=True)
class Field:
    """A control, with what it holds; `options` are those of a menu, by their texts."""

    name: str
    id: str = ""
    value: str = ""
    label: str = ""
    is_box: bool = False
    is_on: bool = False
    options: dict[str, str] = field(default_factory=dict)


class FormReader(HTMLParser):
    """Reads the controls of the form around the button with this value."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.fields: list[Field] = []
        self.labels: dict[str, str] = {}
        self._legend, self._at, self._for = "", "", ""
        self._value = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a control, or that a text is about one."""
        given = {name: value or "" for name, value in attrs}
        match tag:
            case "label":
                self._at, self._for = "label", given.get("for", "")
            case "legend":
                self._at, self._legend = "legend", ""
            case "input" | "textarea" | "select" if given.get("name"):
                is_box = given.get("type") == "checkbox"
                made = Field(given["name"], given.get("id", ""), given.get("value", ""), "", is_box, "checked" in given)
                self.fields.append(made)
                self._at = tag if tag == "textarea" else "label" if is_box else ""
                self._for = "" if is_box else self._for
            case "option":
                self._at, self._value = "option", given.get("value", "")
                if "selected" in given:
                    self.fields[-1].value = self._value
            case _:
                pass

    def handle_data(self, data: str) -> None:
        """Take the text where it belongs."""
        text = data.strip()
        match self._at:
            case "label" if text and self._for:
                self.labels.setdefault(self._for, text)
            case "label" if text and self.fields and self.fields[-1].is_box:
                self.fields[-1].label = self.fields[-1].label or f"{self._legend}: {text}"
            case "legend":
                self._legend = self._legend or text
            case "textarea":
                self.fields[-1].value = data.removeprefix("\n")
            case "option":
                self.fields[-1].options[text] = self._value
            case _:
                pass

    def handle_endtag(self, tag: str) -> None:
        """What follows is about nothing."""
        if tag in ("label", "legend", "textarea", "option"):
            self._at = ""


def sent(source: str, filled: dict[str, str]) -> dict[str, str]:
    """The fields as they are sent; a box is ticked by `legend="text"`."""
    read, fields = FormReader(source), dict[str, str]()
    used = set[str]()
    for each in read.fields:
        label = read.labels.get(each.id, "")
        if each.is_box:
            name, _, choice = each.label.partition(": ")
            used |= {name} & filled.keys()
            is_on = choice == filled[name] if name in filled else each.is_on
            fields |= {each.name: each.value} if is_on else {}
        else:
            used |= {label} & filled.keys()
            written = filled.get(label)
            fields[each.name] = each.value if written is None else each.options.get(written, written)
    assert used == filled.keys(), (filled, read.labels)
    return fields
