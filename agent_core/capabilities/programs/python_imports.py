"""Parses a Python file: decodes it, finds the modules that it imports, and the files that may contain them. Pure.

Imports inside functions, classes and conditions count, and so do `import_module("name")` and `__import__("name")`.
Names that a program computes at run time are not found.
"""

import ast
import codecs
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from platform import python_version
from typing import TypeAlias

from agent_core.errors import CommandError
from agent_core.text.lines import counted

ModuleParts: TypeAlias = tuple[str, ...]
PACKAGE = "__init__"
IMPORT_FUNCTIONS = ("import_module", "__import__")
MAX_FAULT_CHARACTERS = 200
FORBIDDEN_IN_NAMES = frozenset("/\\\0")
# Characters besides \n and \r\n that end a line or reset its indentation for some of Python, editors and browsers. With
# one of them, Python can run as code what people read as a comment or a string.
AMBIGUOUS_LINE_ENDS = re.compile("\r(?!\n)|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
ENCODING_FAULT = "encoding problem"  # CPython, if a comment and the byte order mark disagree


@dataclass(frozen=True, slots=True)
class PythonImport:
    """A module's full name in parts. `is_star` means `from module import *`."""

    parts: ModuleParts
    is_star: bool = False


@dataclass(frozen=True, slots=True)
class PythonSource:
    """A Python file: its text and its syntax tree."""

    text: str
    tree: ast.Module

    @classmethod
    def of(cls, data: bytes, path: str) -> "PythonSource":
        """Parse a file; raise CommandError for invalid Python and for line ends that editors read differently."""
        text = _decode(data, path)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # warnings about the program belong to its output
                tree = ast.parse(python_bytes(text), path)
        except (SyntaxError, ValueError) as error:
            if isinstance(error, SyntaxError) and error.msg.startswith(ENCODING_FAULT):
                raise not_utf8_error(path) from None
            line = f" in line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
            why = error.msg if isinstance(error, SyntaxError) else str(error)
            text = f"{path} is no valid Python {python_version()}{line}: {why[:MAX_FAULT_CHARACTERS]}."
            raise CommandError(text) from None
        except (MemoryError, RecursionError):
            raise CommandError(f"{path} is nested too deeply to be read. Write it in smaller expressions.") from None
        return cls(text, tree)

    def imports(self, package: ModuleParts) -> Iterator[PythonImport]:
        """All imports. Relative imports start from `package`, which is () for a script."""
        for node in ast.walk(self.tree):
            match node:
                case ast.Import(names=names):
                    yield from (PythonImport(tuple(name.name.split("."))) for name in names)
                case ast.ImportFrom():
                    yield from _imports_of_from(node, package)
                case ast.Call(args=[ast.Constant(value=str(name)), *_]) if _name_of(node.func) in IMPORT_FUNCTIONS:
                    yield from _imports_by_name(name, package)


def module_files(parts: ModuleParts) -> tuple[str, str]:
    """The two possible files of module `a.b`, in the order in which Python tries them: a/b/__init__.py, a/b.py."""
    place = "/".join(parts)
    return f"{place}/{PACKAGE}.py", f"{place}.py"


def package_of(parts: ModuleParts, path: str) -> ModuleParts:
    """The package to which relative imports in the module's file at `path` refer: the module itself, or its parent."""
    return parts if path.endswith(f"/{PACKAGE}.py") else parts[:-1]


def python_bytes(text: str) -> bytes:
    """The source as UTF-8 with a byte order mark, so that Python rejects a declaration of another encoding."""
    return codecs.BOM_UTF8 + text.encode()


def not_utf8_error(path: str) -> CommandError:
    return CommandError(
        f"{path} is not in UTF-8, or declares another encoding in its first lines. Only UTF-8 is read alike by people "
        "and by Python: save it in UTF-8 and remove the declaration."
    )


def _imports_of_from(node: ast.ImportFrom, package: ModuleParts) -> Iterator[PythonImport]:
    start = package[: len(package) - node.level + 1] if node.level else ()
    if node.level > len(package):
        return  # Python raises ImportError
    module = start + tuple((node.module or "").split(".") if node.module else ())
    yield PythonImport(module)
    for name in node.names:
        yield PythonImport(module, is_star=True) if name.name == "*" else PythonImport((*module, name.name))


def _imports_by_name(name: str, package: ModuleParts) -> Iterator[PythonImport]:
    level = len(name) - len(name.lstrip("."))
    parts = name[level:].split(".")
    if level <= len(package) and all(part and not FORBIDDEN_IN_NAMES.intersection(part) for part in parts):
        start = package[: len(package) - level + 1] if level else ()
        yield PythonImport((*start, *parts))


def _name_of(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _decode(data: bytes, path: str) -> str:
    """The text without a byte order mark; raise CommandError if it is not UTF-8 or has AMBIGUOUS_LINE_ENDS."""
    if b"\0" in data:
        raise CommandError(f"{path} is not a text file ({counted(len(data), 'byte')}).")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise not_utf8_error(path) from None
    if found := AMBIGUOUS_LINE_ENDS.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise CommandError(
            f"{path} holds the character U+{ord(found[0]):04X} in line {line}, which ends a line or resets its "
            "indentation for some readers and not for others. End lines with \\n or \\r\\n, and write it in strings as "
            "an escape."
        )
    return text
