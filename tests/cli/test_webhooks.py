"""`bilateral webhooks`, with a real process that delivers to a real receiver."""

from __future__ import annotations

import signal

import pytest

from bilateral.api.webhooks import read_key
from tests.api.receivers import receiving
from tests.waiting import wait_until


@pytest.fixture
def key_file(done, tmp_path):
    path = tmp_path / "key.pem"
    made = done("webhooks", "new-key", "--key-file", path)
    assert done("webhooks", "key", "--key-file", path) == made
    assert made["public_key"].startswith("-----BEGIN PUBLIC KEY-----")
    return path


def test_a_webhook_is_added_told_by_a_process_listed_and_removed(done, refused, start, key_file, copied_database):
    database = ("--database", copied_database)
    with receiving(read_key(key_file)) as receiver:
        options = ("--agent", "31337:1", "--kind", "feedback", "--since", "0", "--owner", "shop", "--allow-private")
        webhook = done("webhooks", "add", receiver.url, *options, *database)["id"]
        process = start("webhooks", "deliver", "--key-file", key_file, "--allow-private", *database)
        wait_until(lambda: receiver.deliveries)
        (entry,) = done("webhooks", "list", "--owner", "shop", *database)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert (entry["id"], entry["state"]) == (webhook, "active")
    assert entry["wanted"]["kinds"] == ["feedback"]
    assert {change["kind"] for change in receiver.deliveries[0]["changes"]} == {"feedback"}
    assert done("webhooks", "remove", webhook, *database) == {"id": webhook}
    assert "there is no webhook" in refused(3, "webhooks", "remove", webhook, *database)["message"]
    assert "is not an https URL" in refused(3, "webhooks", "add", "http://a.example", *database)["message"]
    assert done("webhooks", "list", *database) == []
