"""Forks the workers of a run from one process that has collected all tests: to import all they need takes 12 seconds.

Each worker still collects the tests itself, as it would if it had been started alone. It finds all modules loaded. So
the cases of `parametrize` are lists: an iterator is empty the second time, which is an error, see pyproject.toml.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import warnings
from contextlib import suppress

import pytest
from _pytest.config import _prepareconfig
from execnet import gateway_io
from xdist.remote import setup_config

_MAIN = "from tests.workers import main; main()"
"""Not `python -m`: the processes that workers start would then import this module, too."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config, specs):
    """Start the process that forks the workers, and connect each to one of them. A further one starts as usual."""
    if sys.platform != "linux":  # libraries of other systems may crash in a fork
        return
    usual = gateway_io.Popen2IOMaster
    pipes = [(os.pipe(), os.pipe()) for _ in specs]
    parent = _start([str(argument) for argument in config.invocation_params.args], pipes)

    def connect(args, execmodel):
        return _ForkedWorker(parent, *pipes.pop(), execmodel) if pipes else usual(args, execmodel)

    gateway_io.Popen2IOMaster = connect


def _start(args, pipes):
    """Start the process that forks a worker for each pair of pipes: to it, and from it."""
    theirs = [(to_worker[0], from_worker[1]) for to_worker, from_worker in pipes]
    descriptors = [descriptor for pair in theirs for descriptor in pair]
    task = json.dumps({"args": args, "path": sys.path, "pipes": theirs})
    parent = subprocess.Popen(  # noqa: S603  # this file
        [sys.executable, "-c", _MAIN, task], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, pass_fds=descriptors
    )
    for descriptor in descriptors:
        os.close(descriptor)
    return parent


class _ForkedWorker(gateway_io.Popen2IO):
    """The connection to a worker that another process of ours forks."""

    def __init__(self, parent, to_worker, from_worker, execmodel):
        self.parent = parent
        super().__init__(os.fdopen(to_worker[1], "wb"), os.fdopen(from_worker[0], "rb"), execmodel)

    def wait(self):
        return self.parent.wait()

    def kill(self):
        for process in self.parent.stdout.readline().split():
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)


class _Discard:
    """Forgets the tests that were collected, before other plugins change them."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items):
        items.clear()
        return (yield)


def main():
    """Collect all tests, and fork the workers. Each returns from here once its run has ended."""
    task = json.loads(sys.argv[1])
    sys.path[:] = task["path"]
    output = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _collect(task["args"])
    if forked := sys.modules.get("tests.processes"):
        forked.preload()
    processes = []
    for number, (read, write) in enumerate(task["pipes"]):
        process = _fork()
        if not process:
            if forked:
                forked.fork_server()
            _serve(read, write, [output, *(other for pair in task["pipes"][number + 1 :] for other in pair)])
            return
        processes.append(process)
        os.close(read)
        os.close(write)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(output, f"{' '.join(map(str, processes))}\n".encode())
    for process in processes:
        os.waitpid(process, 0)


def _collect(args):
    """Import all that the tests import, as a worker of xdist does.

    Nothing is captured: a module that keeps `sys.stderr` at its import would keep a file that is closed in the workers.
    """
    config = _prepareconfig([*args, "--capture=no"], [_Discard()])
    setup_config(config, None)
    config.workerinput, config.workeroutput = {"workerid": "parent"}, {}
    with suppress(pytest.UsageError):  # such as a file that does not exist: each worker reports it
        config.hook.pytest_cmdline_main(config=config)
    gc.freeze()


def _fork():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # threads of libraries for linear algebra, which a fork may start again
        return os.fork()


def _serve(read, write, others):
    """Be a worker as execnet starts it: what it has to run comes by the standard input."""
    for descriptor in others:
        os.close(descriptor)
    os.dup2(read, 0)
    os.dup2(write, 1)
    os.close(read)
    os.close(write)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    exec(eval(sys.stdin.readline()), {"__name__": "__main__"})  # noqa: S102, S307  # execnet's own words
