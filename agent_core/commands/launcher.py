"""The few lines of Python that start the sealed copy of a program in the sandbox.

They are constant, so an approval need not show them.

The script and its modules come from `/sealed`, where nobody can change them. The program sees itself as the file of the
workspace that it is. The workspace is not among the places where modules are looked for.
"""

from collections.abc import Sequence

SEALED_FOLDER = "/sealed"
# -I: neither the environment nor the working directory adds places for modules. Nothing is imported here but what
# Python has loaded by itself, as a module of the workspace could take its name.
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
    """The command line that runs a sealed script."""
    return (*PYTHON_COMMAND, LAUNCHER, script, *arguments)
