"""Which modules a Python file imports by statement, and which file each is in. Pure.

Imports inside functions, classes and conditions count, and so do `import_module("name")` and `__import__("name")`.
Names that a program puts together while it runs cannot be known.
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

ModuleParts: TypeAlias = tuple[str, ...]
PACKAGE = "__init__"
IMPORT_FUNCTIONS = ("import_module", "__import__")
MAX_FAULT_CHARACTERS = 200
FORBIDDEN_IN_NAMES = frozenset("/\\\0")
# Characters other than \n and \r\n that end a line or reset its indentation for Python, an editor or a browser, but not
# for all of them. Source that holds one can run as code what people read as a comment or a string.
AMBIGUOUS_LINE_ENDS = re.compile("\r(?!\n)|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
ENCODING_FAULT = "encoding problem"  # how CPython's message begins where a comment and the byte order mark disagree


@dataclass(frozen=True, slots=True)
class PythonImport:
    """A module by the parts of its full name. `is_star` asks for all that a package holds."""

    parts: ModuleParts
    is_star: bool = False


@dataclass(frozen=True, slots=True)
class PythonSource:
    """A Python file: its text as people read it, and what Python makes of it."""

    text: str
    tree: ast.Module

    @classmethod
    def of(cls, data: bytes, path: str) -> "PythonSource":
        """Read a file; raise CommandError where Python could not, or people would read something else."""
        text = _decode(data, path)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what Python would say of the program belongs to its output
                tree = ast.parse(python_bytes(text), path)
        except (SyntaxError, ValueError) as fault:
            if isinstance(fault, SyntaxError) and fault.msg.startswith(ENCODING_FAULT):
                raise not_utf8_error(path) from None
            line = f" in line {fault.lineno}" if isinstance(fault, SyntaxError) and fault.lineno else ""
            why = fault.msg if isinstance(fault, SyntaxError) else str(fault)
            said = f"{path} is no valid Python {python_version()}{line}: {why[:MAX_FAULT_CHARACTERS]}."
            raise CommandError(said) from None
        except (MemoryError, RecursionError):
            raise CommandError(f"{path} is nested too deeply to be read. Write it in smaller expressions.") from None
        return cls(text, tree)

    def imports(self, package: ModuleParts) -> Iterator[PythonImport]:
        """Everything that it imports. `package` is where relative imports start: () for a script."""
        for node in ast.walk(self.tree):
            match node:
                case ast.Import(names=names):
                    yield from (PythonImport(tuple(name.name.split("."))) for name in names)
                case ast.ImportFrom():
                    yield from _imports_of_from(node, package)
                case ast.Call(args=[ast.Constant(value=str(name)), *_]) if _name_of(node.func) in IMPORT_FUNCTIONS:
                    yield from _imports_by_name(name, package)


def module_files(parts: ModuleParts) -> tuple[str, str]:
    """The two files that a module can be, in the order in which Python looks for them."""
    place = "/".join(parts)
    return f"{place}/{PACKAGE}.py", f"{place}.py"


def package_of(parts: ModuleParts, path: str) -> ModuleParts:
    """The package from which a module of that name in that file imports relatively."""
    return parts if path.endswith(f"/{PACKAGE}.py") else parts[:-1]


def python_bytes(text: str) -> bytes:
    """The source as Python is given it: with the byte order mark it reads UTF-8, or refuses what a comment declares."""
    return codecs.BOM_UTF8 + text.encode()


def not_utf8_error(path: str) -> CommandError:
    """People and Python could read two different programs."""
    return CommandError(
        f"{path} is not in UTF-8, or declares another encoding in its first lines. Only UTF-8 is read alike by people "
        "and by Python: save it in UTF-8 and remove the declaration."
    )


def _imports_of_from(node: ast.ImportFrom, package: ModuleParts) -> Iterator[PythonImport]:
    start = package[: len(package) - node.level + 1] if node.level else ()
    if node.level > len(package):
        return  # Python refuses it as well
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
    """The text without a byte order mark; raise CommandError where it is not UTF-8 or its lines are ambiguous."""
    if b"\0" in data:
        raise CommandError(f"{path} is not a text file ({len(data):,} bytes).")
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
