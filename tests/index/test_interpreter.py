"""The settings of the interpreter while batches are read and stored."""

from __future__ import annotations

import gc
import sys
import threading

import pytest

from bilateral.core.interpreter import tuned_interpreter


@pytest.fixture(autouse=True)
def settings():
    """Settings of the process before: the test fails if they differ afterwards."""
    before = sys.getswitchinterval(), gc.isenabled()
    yield
    assert (sys.getswitchinterval(), gc.isenabled()) == before


def test_the_collector_rests_and_turns_are_short_within():
    with tuned_interpreter():
        assert not gc.isenabled()
        assert sys.getswitchinterval() < 0.001
    assert gc.isenabled()


def test_an_error_restores_the_settings():
    with pytest.raises(KeyError), tuned_interpreter():
        raise KeyError


def test_the_last_of_several_threads_restores_the_settings():
    entered, leave = threading.Event(), threading.Event()

    def work():
        with tuned_interpreter():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=work)
    with tuned_interpreter():
        thread.start()
        entered.wait()
    assert not gc.isenabled()
    leave.set()
    thread.join()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    try:
        with tuned_interpreter():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
