"""Which files of the workspace a Python program imports: as Python finds them, from the script's own folder."""

import asyncio
import codecs

import pytest

from agent_core.capabilities.programs.sealed_programs import SealedProgram, read_program
from agent_core.errors import CommandError
from agent_core.testing.files import InMemoryFiles

FILES = (
    *("a.py", "b.py", "c.py", "random.py", "json", "late.py", "sub/a.py", "sub/d.py"),
    *("pkg/__init__.py", "pkg/one.py", "pkg/two.py", "pkg/in/__init__.py", "pkg/in/deep.py", "pkg.py"),
    *("space/x.py", "space/inner/y.py", "both.py", "both/z.py", "data/notes.txt", "a.so", "__pycache__/a.pyc"),
)


async def program(source: str | bytes, script: str = "main.py", **more: str) -> SealedProgram:
    files = InMemoryFiles()
    for path in FILES:
        await files.write(path, b"")
    for place, text in more.items():
        await files.write(place.replace("__in__", "/") + ".py", text.encode())
    await files.write(script, source if isinstance(source, bytes) else source.encode())
    return await read_program(script, files)


async def imported(source: str, script: str = "main.py", **more: str) -> set[str]:
    return set((await program(source, script, **more)).files) - {script}


PKG = {"pkg/__init__.py"}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import a", {"a.py"}),
        ("import a as b", {"a.py"}),
        ("import a, b", {"a.py", "b.py"}),
        ("from a import x, y", {"a.py"}),
        ("from a import *", {"a.py"}),
        ("import os, sys, re", set[str]()),
        ("import random", {"random.py"}),
        ("import json.decoder", set[str]()),
        ("def f():\n    import a", {"a.py"}),
        ("if 0:\n    import a\nelse:\n    from b import x", {"a.py", "b.py"}),
        ("try:\n    import nothing\nexcept ImportError:\n    import late", {"late.py"}),
        ("async def f():\n    with x:\n        import a", {"a.py"}),
        ("class A:\n    import a", {"a.py"}),
        ("match x:\n    case 1:\n        import a", {"a.py"}),
        ("import pkg", PKG),
        ("import pkg.one", {*PKG, "pkg/one.py"}),
        ("from pkg import one, name", {*PKG, "pkg/one.py"}),
        ("from pkg.one import name", {*PKG, "pkg/one.py"}),
        ("import pkg.in_", PKG),
        ("from pkg import *", {*PKG, "pkg/one.py", "pkg/two.py", "pkg/in/__init__.py"}),
        ("import space.x", {"space/x.py"}),
        ("from space import x", {"space/x.py"}),
        ("from space.inner import y", {"space/inner/y.py"}),
        ("import space", set[str]()),
        ("import both.z", {"both.py"}),
        ("import data", set[str]()),
        ("from . import a", set[str]()),
        ("import importlib\nimportlib.import_module('a')", {"a.py"}),
        ("from importlib import import_module\nimport_module('pkg.one')", {*PKG, "pkg/one.py"}),
        ("__import__('a')", {"a.py"}),
        ("__import__('../a'), __import__('/a'), __import__('a\\0'), __import__('')", set[str]()),
        ("__import__(name)", set[str]()),
        ("import main", set[str]()),
    ],
)
async def test_forms_of_imports(source: str, found: set[str]) -> None:
    assert await imported(source) == found


async def test_imports_of_imported_files_are_followed_with_those_that_are_relative() -> None:
    assert await imported("import a", a="import b", b="import c, a") == {"a.py", "b.py", "c.py"}
    assert await imported("import pkg", pkg__in____init__="from . import one") == {*PKG, "pkg/one.py"}
    assert await imported("import pkg.one", pkg__in__one="from .two import x") == {*PKG, "pkg/one.py", "pkg/two.py"}
    one = {"pkg__in__one": "import importlib\nimportlib.import_module('.two', __package__)"}
    assert await imported("import pkg.one", **one) == {*PKG, "pkg/one.py", "pkg/two.py"}
    deep = {"pkg__in__in__in__deep": "from .. import two\nfrom ... import a\nfrom .... import b"}
    assert await imported("__import__('pkg.in.deep')", **deep) == {
        *PKG, "pkg/in/__init__.py", "pkg/in/deep.py", "pkg/two.py"
    }  # fmt: skip


async def test_modules_are_looked_for_in_the_folder_of_the_script_alone() -> None:
    assert await imported("import a, b, d", "sub/main.py") == {"sub/a.py", "sub/d.py"}


async def test_the_digest_changes_with_any_byte_and_any_file() -> None:
    first = await program("import a, new")
    assert (await program("import a, new")).digest == first.digest
    others = [
        await program("import a,  new"),
        await program("import a, new", a="#"),
        await program("import a, new", new=""),
    ]
    others.append(await program("import a, new", script="other.py"))
    assert first.digest not in {other.digest for other in others}


@pytest.mark.parametrize("source", ["x = 'é'\r\n", "# -*- coding: utf-8 -*-\nx = 'é'", "x = 1\n\n# coding: cp932"])
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
async def test_python_is_given_the_text_that_people_read(source: str, mark: bytes) -> None:
    found = await program(mark + source.encode())
    assert (found.shown, found.files) == (source, {"main.py": codecs.BOM_UTF8 + source.encode()})


@pytest.mark.parametrize("code", [0x0B, 0x0C, 0x0D, 0x1C, 0x1D, 0x1E, 0x85, 0x2028, 0x2029])
async def test_a_character_that_ends_a_line_for_some_readers_only_is_refused(code: int) -> None:
    with pytest.raises(CommandError, match=f"holds the character U\\+{code:04X} in line 2"):
        await program(f"x = 1\r\n# read as a comment{chr(code)}print(x)\n")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (b"# coding: utf-7\nx = 1", "declares another encoding"),
        (b"# coding: unicode_escape\nx = 1", "declares another encoding"),
        (b"# coding: rot13\nx = 1", "declares another encoding"),
        (b"# coding: latin-1\nx = '\xe9'", "is not in UTF-8"),
        (b"# coding: latin-1\nx = 1", "declares another encoding"),
        (b"#!/bin/x\n# vim: set fileencoding=cp932 :\nx = 1", "declares another encoding"),
        (b"# coding: nothing\nx = 1", "declares another encoding"),
        (b"x = '\xe9'", "is not in UTF-8"),
        (b"x = 1\0", "is not a text file"),
        (b"x = = 1", "invalid syntax"),
        (b"-" * 50_000 + b"1", "is nested too deeply"),
        (b"#" * 400_001, "400,001 bytes of source"),
        (b"\n".join(b"import a%d" % number for number in range(2_100)), "imports more than 2,000 names"),
    ],
)
async def test_what_cannot_be_shown_or_run_is_refused(source: bytes, said: str) -> None:
    with pytest.raises(CommandError) as caught:
        await program(source)
    assert said in str(caught.value)


async def test_a_module_is_held_to_the_same_as_the_script() -> None:
    for source in ("# coding: cp932", "x = 1\rprint(x)"):
        with pytest.raises(CommandError, match=r"^a\.py "):
            await program("import a", a=source)


async def test_only_so_many_files_are_imported() -> None:
    names = [f"module{number}" for number in range(101)]
    with pytest.raises(CommandError, match="imports more than 100 files"):
        await program("\n".join(f"import {name}" for name in names), **dict.fromkeys(names, ""))


async def test_reading_a_program_does_not_warn_of_what_stands_in_it() -> None:
    read = await asyncio.gather(program("x = '\\d'\nassert (x, 1)"))
    assert len(read[0].files) == 1
