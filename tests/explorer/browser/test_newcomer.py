"""A newcomer registers an agent and rates another one. Run it with `-s` to print the time of each step."""

from __future__ import annotations

import re
import time

from playwright.sync_api import expect

from tests.api.world import MALLORY
from tests.explorer.browser.wallet import Wallet

MOST_SECONDS = 180
KEY_MILLISECONDS = 200  # a person who types slowly


def test_a_newcomer_registers_an_agent_and_rates_another_one_in_three_minutes(acting, market):
    times, begun = [], time.monotonic()

    def done(step):
        times.append((step, time.monotonic()))

    def write(label, text):
        page.get_by_label(label).press_sequentially(text, delay=KEY_MILLISECONDS)

    def sign():
        page.get_by_role("button", name="Sign in the wallet").click()
        expect(page.get_by_text("Indexed.")).to_be_visible()

    page = acting("/", Wallet(market.url, MALLORY), refused=True)
    page.get_by_role("link", name="Register an agent").click()
    expect(page.get_by_label("Name")).to_be_visible()
    done("Open the first page, follow “Register an agent”")
    write("Name", "Lighthouse")
    write("Description", "It warns ships.")
    write("Picture", "https://agent.example/light.png")
    done("Fill in name, description and picture")
    page.get_by_role("button", name="Connect a wallet").click()
    expect(page.get_by_text("Register the agent Lighthouse, which your account owns.")).to_be_visible()
    done("“Connect a wallet”: the page says what is signed")
    sign()
    done("“Sign in the wallet”: mined, and shown by the index")
    page.get_by_role("link", name="View it on its page").click()
    page.wait_for_url(re.compile(r"/31337/\d+$"))
    done("“View it on its page”")
    page.goto(f"{market.site}/31337/1")
    link = page.get_by_role("link", name="Rate it", exact=True)
    assert link.bounding_box()["y"] < page.viewport_size["height"], "on the first screen"
    link.click()
    expect(page.get_by_label("Value")).to_be_visible()
    done("Open agent 1, follow “Rate it”")
    write("Value", "93")
    write("Comment", "It told me of the storm in time.")
    done("Fill in value and words")
    page.get_by_role("button", name="Connect a wallet").click()
    expect(page.get_by_role("button", name="Sign in the wallet")).to_be_visible()
    done("“Connect a wallet”")
    sign()
    done("“Sign in the wallet”")
    page.get_by_role("link", name="View it on its page").click()
    page.wait_for_url(re.compile(r"/31337/ratings/\d+-\d+$"))
    done("“View it on its page”")

    for (step, ended), before in zip(times, [begun, *(moment for _, moment in times)], strict=False):
        print(f"| {step} | {ended - before:.0f} |")
    together = times[-1][1] - begun
    print(f"| together | {together:.0f} |")
    assert together < MOST_SECONDS
