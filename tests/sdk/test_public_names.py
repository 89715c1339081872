"""The names that `from bilateral import …` gives, and what their import costs."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys

import pytest

import bilateral


@pytest.mark.parametrize("name", bilateral.__all__)
def test_every_public_name_loads(name):
    value = getattr(bilateral, name)
    assert value.__name__ == name
    assert value.__module__.startswith("bilateral.")


def test_the_public_names_are_listed():
    assert set(bilateral.__all__) <= set(dir(bilateral))
    assert set(bilateral._MODULES) == set(bilateral.__all__)


def test_another_name_is_missing():
    with pytest.raises(AttributeError, match="module 'bilateral' has no attribute 'Customer'"):
        bilateral.Customer  # noqa: B018  # the access is the test


def test_the_package_itself_imports_nothing():
    program = "import sys; import bilateral; print(*[name for name in sys.modules if name.startswith('bilateral')])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
    assert run.stdout.split() == ["bilateral"]


def functions_of(module):
    """Yield the public functions, methods and initialisers of a module with their places."""
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value):
            yield name, value.__init__
            members = inspect.getmembers_static(value, inspect.isfunction)
            yield from ((f"{name}.{member}", function) for member, function in members if not member.startswith("_"))


@pytest.mark.parametrize("module", ["bilateral.client", "bilateral.checks"])
def test_an_argument_that_names_an_agent_in_any_form_is_called_an_id(module):
    """`agent` is the attribute of a result that has the agent as an object, and a `client` may be an account."""
    arguments = [
        f"{place}({parameter.name})"
        for place, function in functions_of(importlib.import_module(module))
        for parameter in inspect.signature(function).parameters.values()
        if re.search(r"(?<!Mapping\[)AgentLike|int \| AgentId", str(parameter.annotation))
    ]
    assert arguments
    assert [argument for argument in arguments if not re.search(r"(_ids?|\(client)\)$", argument)] == []
