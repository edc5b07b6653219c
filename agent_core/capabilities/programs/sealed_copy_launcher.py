"""The Python code that starts the sealed copy of an approved program in the sandbox.

This code is always the same, so cards need not show it.

The script and its modules are read from `/sealed`, which is read-only. The program sees itself as a file of the
workspace, but modules are not imported from the workspace.
"""

from collections.abc import Sequence

SEALED_FOLDER = "/sealed"
# -I: neither the environment nor the working directory extends sys.path. The launcher imports only modules that Python
# has loaded at its start, because a module of the workspace could have the same name.
PYTHON_COMMAND = ("python3", "-I", "-B", "-u", "-c")
LAUNCHER = f"""
def launch():
    import os, sys
    name = sys.argv[1]
    inner, _, _ = name.rpartition("/")
    sealed, folder = os.path.join("{SEALED_FOLDER}", inner).rstrip("/"), os.path.join(os.getcwd(), inner).rstrip("/")
    class NotSealed:
        @staticmethod
        def find_spec(module, path=None, target=None):
            place = os.path.join(folder, *module.split("."))
            if any(os.path.lexists(place + ending) for ending in (".py", ".so", ".pyc", "")):
                raise ModuleNotFoundError(
                    f"No module named {{module!r}}: {{os.path.relpath(place)}} of the workspace was not part of what "
                    "was approved. Import it by an import statement, so that people are shown it.", name=module)
    def show(kind, error, trace):
        while trace and trace.tb_frame.f_code.co_filename == "<string>":
            trace = trace.tb_next
        sys.__excepthook__(kind, error.with_traceback(trace), trace)
    sys.argv[:] = ["./" + name, *sys.argv[2:]]
    sys.path.insert(0, sealed)
    sys.meta_path.append(NotSealed)
    sys.excepthook = show
    own = sys.modules["__main__"].__dict__
    del own["launch"]
    own["__file__"], own["__cached__"] = os.path.join(os.getcwd(), name), None
    with open(os.path.join("{SEALED_FOLDER}", name), "rb") as script:
        code = compile(script.read(), own["__file__"], "exec", dont_inherit=True)
    exec(code, own)
launch()
"""


def launch_command(script: str, arguments: Sequence[str]) -> tuple[str, ...]:
    return (*PYTHON_COMMAND, LAUNCHER, script, *arguments)
