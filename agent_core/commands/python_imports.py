"""Which modules a Python file imports by statement, and which file each is in. Pure.

Imports inside functions, classes and conditions count, and so do `import_module("name")` and `__import__("name")`.
Names that a program puts together while it runs cannot be known.
"""

import ast
import codecs
import io
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from platform import python_version
from typing import TypeAlias

from agent_core.errors import CommandError

Parts: TypeAlias = tuple[str, ...]
PACKAGE = "__init__"
BY_NAME = ("import_module", "__import__")
LONGEST_FAULT = 200
NO_NAME = frozenset("/\\\0")
# Encodings in which each line means the same alone as in the whole file, so that people read what Python reads.
ENCODINGS = frozenset(
    (
        *("utf-8", "utf-8-sig", "ascii", "koi8-r", "koi8-u", "mac-roman"),
        *("gbk", "gb18030", "big5", "euc_jp", "shift_jis", "cp932", "euc_kr", "cp949"),
        *(f"iso8859-{number}" for number in range(1, 17) if number != 12),
        *(f"cp{number}" for number in (437, 850, 852, 855, 866, 874, *range(1250, 1259))),
    )
)


@dataclass(frozen=True, slots=True)
class Import:
    """A module by the parts of its full name. `is_star` asks for all that a package holds."""

    parts: Parts
    is_star: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """A Python file: its text as people read it, and what Python makes of it."""

    text: str
    tree: ast.Module

    @classmethod
    def of(cls, data: bytes, path: str) -> "Source":
        """Read a file; raise CommandError where Python could not, or people would read something else."""
        text = _decoded(data, path)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what Python would say of the program belongs to its output
                tree = ast.parse(data, path)
        except (SyntaxError, ValueError) as fault:
            line = f" in line {fault.lineno}" if isinstance(fault, SyntaxError) and fault.lineno else ""
            why = fault.msg if isinstance(fault, SyntaxError) else str(fault)
            said = f"{path} is no valid Python {python_version()}{line}: {why[:LONGEST_FAULT]}."
            raise CommandError(said) from None
        except (MemoryError, RecursionError):
            raise CommandError(f"{path} is nested too deeply to be read. Write it in smaller expressions.") from None
        return cls(text, tree)

    def imports(self, package: Parts) -> Iterator[Import]:
        """Everything that it imports. `package` is where relative imports start: () for a script."""
        for node in ast.walk(self.tree):
            match node:
                case ast.Import(names=names):
                    yield from (Import(tuple(name.name.split("."))) for name in names)
                case ast.ImportFrom():
                    yield from _imported_from(node, package)
                case ast.Call(args=[ast.Constant(value=str(name)), *_]) if _name_of(node.func) in BY_NAME:
                    yield from _imported_by_name(name, package)


def module_files(parts: Parts) -> tuple[str, str]:
    """The two files that a module can be, in the order in which Python looks for them."""
    place = "/".join(parts)
    return f"{place}/{PACKAGE}.py", f"{place}.py"


def package_of(parts: Parts, path: str) -> Parts:
    """The package from which a module of that name in that file imports relatively."""
    return parts if path.endswith(f"/{PACKAGE}.py") else parts[:-1]


def no_text(path: str, data: bytes) -> CommandError:
    """The file cannot be shown to people."""
    return CommandError(f"{path} is not a text file ({len(data):,} bytes).")


def _imported_from(node: ast.ImportFrom, package: Parts) -> Iterator[Import]:
    start = package[: len(package) - node.level + 1] if node.level else ()
    if node.level > len(package):
        return  # Python refuses it as well
    module = start + tuple((node.module or "").split(".") if node.module else ())
    yield Import(module)
    for name in node.names:
        yield Import(module, is_star=True) if name.name == "*" else Import((*module, name.name))


def _imported_by_name(name: str, package: Parts) -> Iterator[Import]:
    level = len(name) - len(name.lstrip("."))
    parts = name[level:].split(".")
    if level <= len(package) and all(part and not NO_NAME.intersection(part) for part in parts):
        start = package[: len(package) - level + 1] if level else ()
        yield Import((*start, *parts))


def _name_of(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _decoded(data: bytes, path: str) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if codecs.lookup(encoding).name not in ENCODINGS:
            raise CommandError(f"{path} is in {encoding[:40]!r}, which cannot be shown safely. Save it in UTF-8.")
        text = data.decode(encoding)
    except SyntaxError as fault:
        if not (fault.msg or "").startswith("unknown encoding"):
            raise no_text(path, data) from None
        raise CommandError(f"{path} declares an encoding that Python does not know. Save it in UTF-8.") from None
    except UnicodeDecodeError:
        raise no_text(path, data) from None
    if "\0" in text:
        raise no_text(path, data)
    return text
