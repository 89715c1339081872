"""Forks the workers of a run from one process that has collected all tests, which takes 25 seconds of processor time.

The workers share its modules, its tests and its configuration, and then run as xdist lets them. If the tests cannot be
collected, each worker tries to collect them itself, and reports why.
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

import _pytest.config
import pytest
from _pytest import tmpdir
from _pytest.capture import CaptureManager
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
    args = [str(argument) for argument in config.invocation_params.args]
    parent = _start({"args": args, "capture": config.option.capture, "path": sys.path}, pipes)

    def connect(args, execmodel):
        return _ForkedWorker(parent, *pipes.pop(), execmodel) if pipes else usual(args, execmodel)

    gateway_io.Popen2IOMaster = connect


def _start(task, pipes):
    """Start the process that forks a worker for each pair of pipes: to it, and from it."""
    theirs = [(to_worker[0], from_worker[1]) for to_worker, from_worker in pipes]
    descriptors = [descriptor for pair in theirs for descriptor in pair]
    task = json.dumps(task | {"pipes": theirs})
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


class _Collected:
    """A session that has collected its tests. Each worker lets the plugins do what they do after that."""

    def __init__(self, args):
        """Import and collect all that a worker of xdist does.

        Nothing is captured: a module that keeps `sys.stderr` at its import would keep a file that is closed in the
        workers.
        """
        self._config = config = _pytest.config._prepareconfig([*args, "--capture=no"], [self])
        setup_config(config, None)
        config.workerinput, config.workeroutput = {"workerid": "parent"}, {}
        self._session = session = pytest.Session.from_config(config)
        self._items = []
        with suppress(Exception):  # such as a file that does not exist: each worker meets it again, and reports it
            config._do_configure()
            config.hook.pytest_sessionstart(session=session)
            config.hook.pytest_collection(session=session)

    def __bool__(self):
        return bool(self._items) and not self._session.testsfailed

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items):
        outcome = yield
        self._items = [*items]
        items.clear()
        return outcome

    def pass_on(self, capture):
        """Let the worker that this process becomes use the session, and capture what its tests print."""

        def configuration(*_):
            config = self._config
            config.option.capture = capture
            manager = CaptureManager(capture)
            config.pluginmanager.unregister(name="capturemanager")
            config.pluginmanager.register(manager, "capturemanager")
            config.add_cleanup(manager.stop_global_capturing)
            manager.start_global_capturing()
            manager.suspend_global_capture()
            self._others = config.pluginmanager.get_plugins()
            return config

        _pytest.config._prepareconfig = configuration

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config):
        """Run the tests, as pytest does once it has collected them."""
        tmpdir.pytest_configure(config)
        session, hook = self._session, config.hook
        (worker,) = config.pluginmanager.get_plugins() - self._others
        worker.pytest_sessionstart(session)
        worker.pytest_collection()
        worker.pytest_collection_modifyitems(config, self._items)
        session.items, session.testscollected = self._items, len(self._items)
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        try:
            hook.pytest_collection_finish(session=session)
            hook.pytest_runtestloop(session=session)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED if session.testsfailed else pytest.ExitCode.OK
        except (KeyboardInterrupt, pytest.exit.Exception):
            session.exitstatus = pytest.ExitCode.INTERRUPTED
            hook.pytest_keyboard_interrupt(excinfo=pytest.ExceptionInfo.from_current())
        except BaseException:  # noqa: BLE001  # the session reports it
            config.notify_exception(pytest.ExceptionInfo.from_current(), config.option)
        finally:
            hook.pytest_sessionfinish(session=session, exitstatus=session.exitstatus)
            config._ensure_unconfigure()
        return session.exitstatus


def main():
    """Collect all tests, and fork the workers. Each returns from here once its run has ended."""
    task = json.loads(sys.argv[1])
    sys.path[:] = task["path"]
    output = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    collected = _Collected(task["args"])
    gc.freeze()
    if forked := sys.modules.get("tests.processes"):
        forked.preload()
    processes = []
    for number, (read, write) in enumerate(task["pipes"]):
        process = _fork()
        if not process:
            if forked:
                forked.fork_server()
            if collected:
                collected.pass_on(task["capture"])
            _serve(read, write, [output, *(other for pair in task["pipes"][number + 1 :] for other in pair)])
            return
        processes.append(process)
        os.close(read)
        os.close(write)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(output, f"{' '.join(map(str, processes))}\n".encode())
    for process in processes:
        os.waitpid(process, 0)


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
