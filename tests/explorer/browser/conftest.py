"""A browser for each worker. Tests of this folder run in its thread, because Playwright keeps an event loop there."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import ClassVar

import pytest
from playwright.sync_api import expect

from bilateral.api.settings import ApiSettings
from scripts._browser import running_browser
from tests.api.world import served
from tests.explorer.browser.market import running_market
from tests.explorer.browser.wallet import install
from tests.explorer.browser.watched import PATIENCE, Watched

expect.set_options(timeout=PATIENCE)

WITHOUT_GPU = ("--disable-gpu-compositing", "--disable-gpu-rasterization")
"""Only WebGL is computed as on a graphics card then. To paint pages so takes a third of all processor time."""


@cache
def thread():
    """Return the thread of the browser."""
    return ThreadPoolExecutor(1, thread_name_prefix="browser")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run a test in the thread of the browser."""
    names = pyfuncitem._fixtureinfo.argnames
    thread().submit(pyfuncitem.obj, **{name: pyfuncitem.funcargs[name] for name in names}).result()
    return True


@pytest.fixture(scope="session")
def browser():
    """Chromium, in its thread."""
    running = running_browser(*WITHOUT_GPU)
    yield thread().submit(running.__enter__).result()
    thread().submit(running.__exit__, None, None, None).result()


@pytest.fixture(scope="session")
def site(api_sqlite):
    """The URL of the service over the world of the API's tests."""
    with served(ApiSettings(database=api_sqlite, rate=None, query_seconds=60.0, max_silence=10**9)) as url:
        yield url


@pytest.fixture
def watched(browser, site):
    """Open windows in which nothing may go wrong. They close after the test, in the browser's thread."""
    windows = []

    def open_window(size="laptop", at=site, **options):
        windows.append(Watched(browser, at, size, **options))
        return windows[-1]

    yield open_window
    for window in windows:
        thread().submit(window.close).result()


@pytest.fixture(scope="session")
def market(tmp_path_factory):
    """A chain that an index follows, for tests that act on it."""
    with running_market(tmp_path_factory.mktemp("market")) as market:
        yield market


@pytest.fixture
def acting(watched, market):
    """Open windows with wallets on pages of the market. The service may refuse what they ask if `refused` says so."""

    class Acting:
        """Opens the windows, and keeps them."""

        windows: ClassVar[list[Watched]] = []

        def __call__(self, path, *wallets, size="laptop", refused=False, status=200):
            window = watched(size, at=market.site)
            self.windows.append(window)
            install(window.context, *wallets)
            if refused:
                window.refused.add("/v1/transactions")
            return window.open(path, status)

    return Acting()
