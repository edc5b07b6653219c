"""Pictures for models: what is kept of a file, and hostile files."""

import io
import os
import struct
import zlib
from pathlib import Path

import pytest
from PIL import ExifTags, Image, ImageCms, PngImagePlugin

from agent_core.capabilities.documents.picture_reader import MAX_PICTURE_BYTES, PictureReader
from agent_core.errors import CommandError
from agent_core.ports.documents import ReadPicture

SECRET = "Berlin, 52.52 N"
NOT_A_PICTURE = "is not a picture that can be viewed: these are PNG, JPEG, GIF, WebP and BMP."
DAMAGED = "is damaged, so it cannot be viewed."


def saved(picture: Image.Image, name: str, **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, name, **options)
    return file.getvalue()


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_of(width: int, height: int, data: bytes = b"") -> bytes:
    """A PNG whose header states this size, whatever its data are."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def many_frames(frames: int) -> bytes:
    pictures = [Image.new("P", (2, 2), number % 256) for number in range(frames)]
    return saved(pictures[0], "GIF", save_all=True, append_images=pictures[1:], optimize=False)


async def read(data: bytes, name: str = "a.png") -> ReadPicture:
    return await PictureReader().picture_of(name, data)


def opened(found: ReadPicture) -> Image.Image:
    return Image.open(io.BytesIO(found.image.data))


LOSSLESS = [("PNG", "RGB"), ("GIF", "P"), ("WEBP", "RGB"), ("BMP", "RGB"), ("PNG", "1"), ("PNG", "I;16")]
PHOTOS = [("JPEG", "RGB"), ("JPEG", "L"), ("JPEG", "CMYK")]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mode"), LOSSLESS + PHOTOS)
async def test_a_photo_stays_a_jpeg_and_every_other_picture_becomes_a_png(name: str, mode: str) -> None:
    found = await read(saved(Image.new(mode, (30, 20)), name), "a.png")  # the extension does not matter
    becomes = "JPEG" if name == "JPEG" else "PNG"
    assert (found.image.media_type, found.note) == (f"image/{becomes.lower()}", "30 × 20 pixels")
    assert (opened(found).format, opened(found).size) == (becomes, (30, 20))


@pytest.mark.slow
@pytest.mark.proves("vision:pixels")
@pytest.mark.parametrize("name", ["JPEG", "PNG", "WEBP"])
async def test_metadata_are_dropped_and_the_picture_stands_upright(name: str) -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6  # taken with the camera turned
    exif[ExifTags.Base.ImageDescription] = SECRET
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = saved(Image.new("RGB", (30, 20)), name, exif=exif, icc_profile=profile)
    assert SECRET.encode() in data
    found = await read(data)
    assert SECRET.encode() not in found.image.data
    assert opened(found).size == (20, 30)
    assert not opened(found).getexif()
    assert not opened(found).info.keys() & {"icc_profile", "exif", "comment"}


@pytest.mark.slow
async def test_texts_in_the_file_are_dropped() -> None:
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Comment", SECRET)
    found = await read(saved(Image.new("RGB", (3, 2)), "PNG", pnginfo=texts))
    assert SECRET.encode() not in found.image.data
    jpeg = await read(saved(Image.new("RGB", (3, 2)), "JPEG", comment=SECRET))
    assert SECRET.encode() not in jpeg.image.data


@pytest.mark.slow
@pytest.mark.parametrize(("size", "scaled"), [((3136, 100), (1568, 50)), ((100, 6272), (25, 1568)), ((9, 9), (9, 9))])
async def test_a_picture_is_scaled_to_at_most_1568_pixels(size: tuple[int, int], scaled: tuple[int, int]) -> None:
    found = await read(saved(Image.new("RGB", size), "PNG"))
    assert opened(found).size == scaled
    assert found.note == f"{size[0]:,} × {size[1]:,} pixels"


@pytest.mark.slow
async def test_transparent_pixels_become_white() -> None:
    found = opened(await read(saved(Image.new("RGBA", (2, 2), (0, 0, 0, 0)), "PNG")))
    assert (found.mode, found.getpixel((0, 0))) == ("RGB", (255, 255, 255))


@pytest.mark.slow
async def test_noise_is_sent_as_a_jpeg_that_endpoints_accept() -> None:
    noise = Image.frombytes("RGB", (1568, 1568), os.urandom(3 * 1568 * 1568))
    found = await read(saved(noise, "PNG"))
    assert found.image.media_type == "image/jpeg"
    assert len(found.image.data) <= 3 * 2**20


@pytest.mark.slow
async def test_of_an_animation_only_the_first_of_its_frames_is_seen() -> None:
    assert (await read(many_frames(5_000))).note == "2 × 2 pixels, only its first frame"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty."),
        (b"Nothing but words.", NOT_A_PICTURE),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", NOT_A_PICTURE),
        (b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", NOT_A_PICTURE),
        (b"II*\x00\x08\x00\x00\x00\x00\x00", NOT_A_PICTURE),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n", NOT_A_PICTURE),
        (png_of(50_000, 50_000), "has too many pixels to be viewed: at most 50,000,000."),
        (png_of(10_000, 9_000), "has too many pixels to be viewed: at most 50,000,000."),
        (png_of(0, 0), NOT_A_PICTURE),
        (png_of(300, 300), DAMAGED),
        (png_of(300, 300, zlib.compress(bytes(901 * 300))[:40]), DAMAGED),
        (saved(Image.effect_noise((300, 300), 90), "JPEG")[:2_000], DAMAGED),
        (many_frames(3)[:40], DAMAGED),
        (b"x" * (MAX_PICTURE_BYTES + 1), f"is too large ({MAX_PICTURE_BYTES + 1:,} bytes): at most 20,971,520"),
    ],
    ids=range(14),
)
async def test_a_hostile_or_damaged_file_gives_one_sentence(data: bytes, said: str) -> None:
    with pytest.raises(CommandError) as caught:
        await read(data, "a.jpg")
    assert str(caught.value).startswith(f"a.jpg {said}")


@pytest.mark.slow
async def test_a_decoder_that_takes_all_the_time_or_memory_is_killed(tmp_path: Path) -> None:
    for number, program in enumerate(("while True: pass", "import sys; sys.exit(3)", "print('x' * 2**25)")):
        worker = tmp_path / f"{number}.py"
        worker.write_text(program)
        with pytest.raises(CommandError, match=r"^a.png takes too long or too much memory to decode\.$"):
            await PictureReader(worker=worker, seconds=5).picture_of("a.png", b"x")
