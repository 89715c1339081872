"""The names that `from bilateral import …` gives, and what their import costs."""

from __future__ import annotations

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
