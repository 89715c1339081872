"""Packages that are built once a run, clean environments with the wheel, and the market that runs in them."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from scripts import npm_package
from scripts._anvil import ANVIL
from scripts._build import ROOT

_UV = ROOT / ".venv" / "bin" / "uv"
_OVERRIDES = ROOT / "toolchain" / "overrides.in"
LOCK = ROOT / "toolchain" / "requirements.lock"
TOOLS = ROOT / ".cache" / "npm-package" / "node_modules"
"""The dependencies of the npm package, and its users' compilers."""

_SECONDS = "seconds.txt"
"""The file that says how long an installation took."""


def run(*command, cwd=None, environment=None):
    """Run a command that must succeed, and return its output."""
    done = subprocess.run(  # noqa: S603  # commands of the tests
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def clone(folder):
    """Clone the checkout's last commit, as a user does, without the files that git ignores."""
    run("git", "clone", "--quiet", "--no-hardlinks", ROOT, folder)
    return folder


def build(source, out, *targets):
    """Build distributions by the locked hatchling."""
    chosen = [part for target in targets for part in ("--target", target)]
    run(sys.executable, "-m", "hatchling", "build", *chosen, "--directory", out, cwd=source)
    return sorted(out.iterdir())


@contextmanager
def once_a_run(tmp_path_factory, name):
    """Give one folder to all processes of a run of tests. The first to come fills it while the others wait."""
    shared = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        shared = shared.parent
    folder = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel of the last commit."""
    with once_a_run(tmp_path_factory, "built") as folder:
        if not folder.exists():
            source = clone(folder.with_name("clone"))
            build(source, folder.with_name("building"), "wheel")
            folder.with_name("building").rename(folder)
        (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """Installs the wheel with an extra into an environment that has nothing else, and returns its folder of programs.

    Versions are those of the lock, so that a release of somebody else's breaks no test.
    """

    def install(extra, *others, python=sys.executable):
        name = "-".join(["environment", extra.replace(",", "-"), *others, *Path(python).parts[-3:]])
        with once_a_run(tmp_path_factory, name) as folder:
            if not folder.exists():
                building = folder.with_name(f"{name}.part")
                run(_UV, "venv", "--quiet", "--relocatable", "--python", python, building)
                wanted = f"bilateral[{extra}] @ {wheel.as_uri()}" if extra else f"bilateral @ {wheel.as_uri()}"
                versions = ["--constraint", LOCK, "--override", _OVERRIDES]
                target = building / "bin" / "python"
                began = time.monotonic()
                run(_UV, "pip", "install", "--quiet", "--python", target, *versions, wanted, *others)
                (building / _SECONDS).write_text(str(time.monotonic() - began))
                building.rename(folder)
        return folder / "bin"

    return install


def seconds_of(programs):
    """Return the seconds that it took to install an environment, by its folder of programs."""
    return float((programs.parent / _SECONDS).read_text())


@pytest.fixture(scope="session")
def archive(tmp_path_factory):
    """The npm package of the last commit."""
    with once_a_run(tmp_path_factory, "npm") as folder:
        if not folder.exists():
            npm_package.build(folder.with_name("packing"))
            folder.with_name("packing").rename(folder)
        (path,) = folder.iterdir()
    return path


def unpack_with_tools(archive, modules):
    """Fill a new folder node_modules with the npm package, and with links to its dependencies and to compilers."""
    modules.mkdir()
    with tarfile.open(archive) as content:
        content.extractall(modules, filter="data")
    (modules / "package").rename(modules / "bilateral")
    for package in TOOLS.iterdir():
        if package.name not in {"bilateral", ".package-lock.json"}:
            (modules / package.name).symlink_to(package)


def python_of(version):
    """Return the interpreter of a version of Python, or skip the test if this machine has none."""
    command = [_UV, "python", "find", "--no-python-downloads", "--no-project", "--system", version]
    done = subprocess.run(command, cwd=ROOT.parent, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        pytest.skip(f"this machine has no Python {version}")
    return done.stdout.strip()


class Market:
    """`bilateral dev`, which runs from a folder of installed programs.

    Attributes:
        variables: The variables that it names.
        seconds: The time that it took to start.
        code: Its exit code, once it has ended.
    """

    def __init__(self, programs, folder):
        self.code = None
        self._programs, self._folder = programs, folder
        self.environment = {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "BILATERAL_ANVIL": str(ANVIL),
            "BILATERAL_ANY_PORTS": "1",
        }
        began = time.monotonic()
        self._process = subprocess.Popen(  # noqa: S603  # the command under test
            [programs / "bilateral", "dev", "--json"],
            cwd=folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        told = ""
        while (line := self._process.stdout.readline()) and line != "}\n":
            told += line
        if not line:
            pytest.fail(f"the market ended with exit code {self._process.wait()}: {told}")
        self.variables = json.loads(told + line)
        self.seconds = time.monotonic() - began

    def run(self, line):
        """Run a line of a shell with the variables of the market; its output."""
        return run("bash", "-euc", line, cwd=self._folder, environment=self.environment | self.variables)

    def end(self):
        """End as Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)
        self.code = self._process.wait(timeout=60)


@contextmanager
def market_of(programs, folder):
    """Run `bilateral dev` in a folder, and end it."""
    market = Market(programs, folder)
    try:
        yield market
    finally:
        market.end()
