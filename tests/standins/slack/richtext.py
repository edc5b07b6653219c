"""Rich text as docs.slack.dev/reference/block-kit/blocks/rich-text-block describes it."""

from tests.standins.slack.checks import Check, boolean, both, date_format, kinds, listing, shape, string, whole, word

MOST = 10_000
ID = string(255)

STYLE = shape({}, dict.fromkeys(("bold", "italic", "strike", "code", "underline"), boolean))
HIGHLIGHT = shape(
    {}, dict.fromkeys(("bold", "italic", "strike", "highlight", "client_highlight", "unlink", "code"), boolean)
)

INLINE: dict[str, Check] = {
    "text": shape({"text": string(MOST)}, {"style": STYLE}),
    "link": shape({"url": string(3000)}, {"text": string(MOST), "unsafe": boolean, "style": STYLE}),
    "emoji": shape({"name": string(100)}, {"unicode": string(100), "skin_tone": whole(1, 6), "url": string(3000)}),
    "user": shape({"user_id": ID}, {"style": HIGHLIGHT}),
    "usergroup": shape({"usergroup_id": ID}, {"style": HIGHLIGHT}),
    "channel": shape({"channel_id": ID}, {"style": HIGHLIGHT}),
    "team": shape({"team_id": ID}, {"style": HIGHLIGHT}),
    "broadcast": shape({"range": word("here", "channel", "everyone")}, {"style": STYLE}),
    "color": shape({"value": string(20)}),
    "date": shape(
        {"timestamp": whole(0, 9_999_999_999), "format": both(string(300), date_format)},
        {"url": string(3000), "fallback": string(300)},
    ),
}

SECTION = shape({"elements": listing(kinds(INLINE), MOST)})
BORDER = word(0, 1)

RICH_TEXT = kinds(
    {
        "rich_text_section": SECTION,
        "rich_text_quote": shape({"elements": listing(kinds(INLINE), MOST)}, {"border": BORDER}),
        "rich_text_preformatted": shape(
            {"elements": listing(kinds(INLINE, {"text", "link"}), MOST)}, {"border": BORDER}
        ),
        "rich_text_list": shape(
            {
                "elements": listing(kinds({"rich_text_section": SECTION}), MOST),
                "style": word("bullet", "ordered"),
            },
            {"indent": whole(0, 8), "offset": whole(0, MOST), "border": BORDER},
        ),
    }
)
