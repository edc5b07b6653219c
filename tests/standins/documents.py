"""Documents in bytes, valid and malicious ones: zip, Word, OpenDocument, PDF."""

import io
import zipfile
import zlib
from collections.abc import Mapping

WORD_NAMESPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
OPEN_DOCUMENT_NAMESPACES = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
)


def archive(members: Mapping[str, str]) -> bytes:
    """A zip file with these members."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in members.items():
            file.writestr(name, text)
    return made.getvalue()


def word(body: str, *, before: str = "") -> bytes:
    """A Word file with this XML as its body."""
    return archive({"word/document.xml": f"{before}<w:document {WORD_NAMESPACE}><w:body>{body}</w:body></w:document>"})


def line(text: str) -> str:
    """A paragraph of a Word file."""
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def open_document(body: str) -> bytes:
    """An OpenDocument file with this XML as its body."""
    content = f"<office:document-content {OPEN_DOCUMENT_NAMESPACES}>{body}</office:document-content>"
    return archive({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})


def pdf(*pages: str | bytes, tree: str = "") -> bytes:
    """A PDF of these pages: text, or a compressed stream. `tree` replaces the list of pages."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        (tree or f"<</Type/Pages/Count {len(pages)}/Kids[{kids}]>>").encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, page in enumerate(pages):
        resources = "/Resources<</Font<</F1 3 0 R>>>>"
        objects.append(f"<</Type/Page/Parent 2 0 R{resources}/Contents {5 + 2 * number} 0 R>>".encode())
        objects.append(_stream(page))
    return _whole(objects)


def filled_form() -> bytes:
    """A PDF of one page with a comment, and a form: a text, two boxes, of which one is ticked, and a password."""
    box, text = "/Type/Annot/Subtype/Widget/FT/Btn", "/Type/Annot/Subtype/Widget/FT/Tx"
    objects = [
        "<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[6 0 R 7 0 R 8 0 R 9 0 R]>>>>",
        "<</Type/Pages/Count 1/Kids[4 0 R]>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        "<</Type/Page/Parent 2 0 R/Resources<</Font<</F1 3 0 R>>>>/Contents 5 0 R"
        "/Annots[6 0 R 7 0 R 8 0 R 9 0 R<</Type/Annot/Subtype/Text/Contents(Please check.)>>]>>",
    ]
    fields = [
        f"<<{text}/T(surname)/V(Okonkwo)>>",
        f"<<{box}/T(consent)/V/Yes/AS/Yes>>",
        f"<<{box}/T(child)/V/Off>>",
        f"<<{text}/T(key)/Ff 8192/V(secret)>>",
    ]
    return _whole([*(each.encode() for each in objects), _stream("Surname:"), *(each.encode() for each in fields)])


def compressed_stream(text: bytes, times: int) -> bytes:
    """The text `times` times, compressed."""
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(text) for _ in range(times)) + packer.flush()


def _stream(page: str | bytes) -> bytes:
    if isinstance(page, bytes):
        return f"<</Filter/FlateDecode/Length {len(page)}>>stream\n".encode() + page + b"\nendstream"
    drawn = f"BT /F1 12 Tf 72 700 Td ({page}) Tj ET" if page else ""
    return f"<</Length {len(drawn)}>>stream\n{drawn}\nendstream".encode()


def _whole(objects: list[bytes]) -> bytes:
    made, places = bytearray(b"%PDF-1.4\n"), list[int]()
    for number, content in enumerate(objects, 1):
        places.append(len(made))
        made += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    start, rows = len(made), "".join(f"{place:010} 00000 n \n" for place in places)
    made += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}".encode()
    return bytes(made + f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF".encode())
