"""The typed stub says what the compiled half is."""

import ast
import inspect
from pathlib import Path

import ioda
from ioda import _native


def test_the_stub_has_what_the_module_has() -> None:
    path = Path(ioda.__file__).parent / "_native.pyi"
    tree = ast.parse(path.read_text())
    stubbed: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            stubbed[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            stubbed[node.target.id] = node
    real = {name for name in dir(_native) if not name.startswith("__")}
    assert real == {name for name in stubbed if not name.startswith("_")}
    for name, node in stubbed.items():
        if isinstance(node, ast.FunctionDef):
            parameters = list(inspect.signature(getattr(_native, name)).parameters)
            assert parameters == [argument.arg for argument in node.args.args], name
        elif isinstance(node, ast.ClassDef) and not name.startswith("_"):
            members = {each.name for each in node.body if isinstance(each, ast.FunctionDef) and not each.name.startswith("__")}
            own = {each for each in vars(getattr(_native, name)) if not each.startswith("__")}
            assert members == own, name


def test_everything_public_is_documented() -> None:
    for name in ioda.__all__:
        value = getattr(ioda, name)
        if name != "__version__":
            assert (value.__doc__ or "").strip(), name
        if inspect.isclass(value):
            for member, what in vars(value).items():
                if not member.startswith("_") and (inspect.isfunction(what) or isinstance(what, property)):
                    assert (what.__doc__ or "").strip(), f"{name}.{member}"
