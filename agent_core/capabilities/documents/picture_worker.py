"""Worker program that decodes one untrusted picture and encodes it again: bytes on stdin, JSON on stdout.

    python -P picture_worker.py < file

`worker_frame.py` runs it. It imports no Signoff code, and opens only files of its libraries. It prints
{"type": "image/png" or "image/jpeg", "data": base64, "note": …}, or {"fault": …} with `unknown` or `large`. Only the
pixels of the first frame are kept: no EXIF, no comments, no colour profile. It exits without output if the file is
damaged, and is killed if it exceeds a limit.
"""

import base64
import io
import json
import sys

from PIL import Image, ImageOps, UnidentifiedImageError, WebPImagePlugin

MAX_PIXELS = 50_000_000  # 200 MB when decoded; the sensors of most phones have fewer
MAX_EDGE_PIXELS = 1_568  # Anthropic scales larger pictures down (platform.claude.com/docs, Vision)
MAX_PNG_BYTES = 3 * 2**20  # a larger picture is sent as JPEG; Anthropic refuses more than 5 MB in base64
JPEG_QUALITIES = (85, 60, 30)
FORMATS = ("PNG", "JPEG", "GIF", WebPImagePlugin.WebPImageFile.format, "BMP")  # no TIFF, HEIC or SVG: larger decoders


def read(data: bytes) -> dict[str, str]:
    """The worker's answer. The size in the header is checked before anything is decoded."""
    try:
        picture = Image.open(io.BytesIO(data), formats=FORMATS)
    except UnidentifiedImageError:
        return {"fault": "unknown"}
    except Image.DecompressionBombError:
        return {"fault": "large"}
    width, height = picture.size
    if width * height > MAX_PIXELS:
        return {"fault": "large"}
    is_photo, is_animated = picture.format in ("JPEG", "MPO"), getattr(picture, "is_animated", False)
    picture.draft("RGB", (MAX_EDGE_PIXELS, MAX_EDGE_PIXELS))  # lets JPEG decode at a fraction of its size
    media_type, encoded = encode(bounded(picture), is_photo=is_photo)
    note = f"{width:,} × {height:,} pixels{', only its first frame' if is_animated else ''}"
    return {"type": media_type, "data": base64.b64encode(encoded).decode(), "note": note}


def bounded(picture: Image.Image) -> Image.Image:
    """The pixels alone: upright, without transparency, at most 1,568 wide and high."""
    if picture.mode.startswith("I;16"):
        picture = picture.point(lambda value: value / 256, "L")
    has_alpha = picture.has_transparency_data
    picture = picture.convert("RGBA" if has_alpha else "L" if picture.mode in ("1", "L") else "RGB")
    picture.thumbnail((MAX_EDGE_PIXELS, MAX_EDGE_PIXELS), Image.Resampling.LANCZOS, reducing_gap=2.0)
    upright = ImageOps.exif_transpose(picture)
    if has_alpha:
        paper = Image.new("RGBA", upright.size, "white")
        upright = Image.alpha_composite(paper, upright).convert("RGB")
    return Image.frombytes(upright.mode, upright.size, upright.tobytes())


def encode(picture: Image.Image, *, is_photo: bool) -> tuple[str, bytes]:
    """PNG, or JPEG for photos and for what is too large as PNG."""
    if not is_photo and len(png := saved(picture, "PNG")) <= MAX_PNG_BYTES:
        return "image/png", png
    jpegs = (saved(picture, "JPEG", quality=quality) for quality in JPEG_QUALITIES)
    return "image/jpeg", next(jpeg for jpeg in jpegs if len(jpeg) <= MAX_PNG_BYTES)  # noise of this size fits at 30


def saved(picture: Image.Image, name: str, **options: int) -> bytes:
    file = io.BytesIO()
    picture.save(file, name, **options)
    return file.getvalue()


def main() -> None:
    sys.stdout.write(json.dumps(read(sys.stdin.buffer.read())))


if __name__ == "__main__":
    main()
