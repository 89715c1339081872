"""Fails a run of the whole suite that misses a promise of the project.

After all tests, in however many processes they ran, it compares what they asserted with what the contracts declare, and
how they ended with docs/conformance.md. It says in a line how much it judged, and `.ci/run` looks for that line: a run
of a part of the suite, or one that was cut short, is not judged.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

from tests.conformance.assertions import ASSERTED, make_reverts_exact
from tests.conformance.declarations import declarations
from tests.conformance.page import judge
from tests.nightly import QUICK


def pytest_configure(config):
    make_reverts_exact()
    is_worker = hasattr(config, "workerinput")
    config.pluginmanager.register(_Worker(config) if is_worker else _Judge(config), "completeness")


def _name(nodeid):
    """Return the name of a test without its parameters."""
    return nodeid.partition("[")[0]


class _Worker:
    """Tells the process that started this one what its tests asserted."""

    def __init__(self, config):
        self.config = config
        self.unchosen = set()

    def pytest_deselected(self, items):
        self.unchosen.update(_name(item.nodeid) for item in items)

    def pytest_sessionfinish(self):
        self.config.workeroutput["asserted"] = sorted(ASSERTED)
        self.config.workeroutput["unchosen"] = sorted(self.unchosen)


class _Judge:
    """Sees all tests end, and judges when all have."""

    def __init__(self, config):
        self.config = config
        self.outcomes = defaultdict(set)
        self.unchosen = set()
        self.verdict = ""

    def pytest_deselected(self, items):
        self.unchosen.update(_name(item.nodeid) for item in items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        output = getattr(node, "workeroutput", {})
        ASSERTED.update(output.get("asserted", []))
        self.unchosen.update(output.get("unchosen", []))

    def pytest_runtest_logreport(self, report):
        # A test that passes reports three times; of a test that does not, at least one report says so.
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[_name(report.nodeid)].add(report.outcome)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        if not self._ran_whole(session):
            return
        declared = declarations()
        never_asserted = sorted(declared[name] for name in declared.keys() - ASSERTED)
        # Tests that are left to the nightly run are judged there.
        rows, gaps = judge({name: {"passed"} for name in self.unchosen} | self.outcomes)
        self.verdict = f"conformance: judged {rows} rows, {len(declared)} declarations"
        self._report(session, "docs/conformance.md", gaps)
        self._report(
            session,
            "contracts",
            [f"no test asserts with all its arguments or fields: {declaration}" for declaration in never_asserted],
        )

    def pytest_terminal_summary(self, terminalreporter):
        if self.verdict:
            terminalreporter.write_line(self.verdict)

    def _ran_whole(self, session):
        options = self.config.option
        # `lf` is an option of pytest's cache, which may be off.
        is_selection = self.config.args_source is not pytest.Config.ArgsSource.TESTPATHS or any(
            (options.keyword, options.deselect, getattr(options, "lf", False), options.collectonly)
        )
        is_selection |= options.markexpr not in {"", QUICK}
        return not is_selection and not session.shouldstop and not session.shouldfail

    def _report(self, session, subject, gaps):
        """Show the gaps as an error, like one in a test's set-up, so that pytest counts it in its closing line."""
        if not gaps:
            return
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self.config.hook.pytest_runtest_logreport(
            report=pytest.TestReport(
                nodeid=subject,
                location=(subject, None, subject),
                keywords={},
                outcome="failed",
                longrepr="\n".join(gaps),
                when="setup",
            )
        )
