"""Decodes bytes as Unicode text, by byte order mark or as UTF-8; None if they are none."""

BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


def decode_unicode(data: bytes) -> str | None:
    """The text without its byte order mark; None for bytes that are not Unicode or hold null characters."""
    encoding = next((name for mark, name in BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are UTF-8: only then can text be appended."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
