"""What bytes say as text where they tell it themselves: Unicode, by its mark or by being valid UTF-8."""

MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


def unicode_text(data: bytes) -> str | None:
    """The text, without its mark; None where the bytes are no Unicode, or hold what no text holds."""
    encoding = next((name for mark, name in MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def is_utf8(data: bytes) -> bool:
    """Whether text can be added at the end of these bytes."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
