"""Whatever strangers put on chain and into documents is shown literally, and acts on no terminal."""

from __future__ import annotations

import json

import pytest
from eth_abi import encode
from eth_utils.crypto import keccak

from bilateral.cli.output import Output, cell_text
from bilateral.documents import DataUriStore
from tests.sdk.test_codec import feedback, send

pytestmark = pytest.mark.usefixtures("agent")

MARKUP = "[red]x[/] [link=file:///etc/passwd]y[/link] :warning:"
CONTROLS = "\x00\x1b[2J\x1b]0;owned\x07\u202egnp.exe\r\nerror: all fine"
ESCAPED = r"\x00\x1b[2J\x1b]0;owned\x07\u202egnp.exe\r\nerror: all fine"


def acts(text):
    """Return True if an output has a control character other than line breaks."""
    return not all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize(("tag", "visible"), [(MARKUP, MARKUP), (CONTROLS, ESCAPED)], ids=["markup", "controls"])
def test_a_hostile_tag_is_shown_literally(bilateral, done, reputation, client, tag, visible):
    send(client, reputation, feedback(tag.encode(), tag.encode(), tag.encode()))
    feedback_id = f"31337:1:{client.address}:0"
    for command in (["feedback", "list", 1], ["feedback", "show", feedback_id], ["feedback", "search", 1, "--load"]):
        ran = bilateral(*command)
        assert ran.code == 0
        assert visible in ran.out
        assert not acts(ran.out + ran.err)
        ran = bilateral(*command, "--json")
        assert ran.out.isascii()
        assert not acts(ran.out)
    assert done("feedback", "list", 1)[0]["tag1"] == tag


def test_a_tag_in_invalid_utf8_is_replaced_and_json_has_its_bytes(bilateral, done, reputation, client):
    send(client, reputation, feedback(b"starred\xff\xfe", b"fine"))
    (entry,) = done("feedback", "list", 1)
    assert (entry["tag1"], entry["tag1_bytes"]) == ("starred\ufffd\ufffd", "0x" + b"starred\xff\xfe".hex())
    assert "tag2_bytes" not in entry
    assert "starred\ufffd\ufffd" in bilateral("feedback", "list", 1).out


def test_100_kilobytes_are_cut_for_people_and_whole_for_machines(bilateral, done, reputation, client):
    send(client, reputation, feedback(b"", uri=b"\x1b" * 100_000))
    feedback_id = f"31337:1:{client.address}:0"
    ran = bilateral("feedback", "show", feedback_id, "--no-load")
    assert ran.code == 0
    assert len(ran.out) < 5_000
    assert "… (100000 characters)" in ran.out
    assert not acts(ran.out)
    assert len(done("feedback", "show", feedback_id, "--no-load")["feedback"]["event"]["uri"]) == 100_000


@pytest.mark.parametrize(
    ("text", "length"),
    [("x", 300), ("0x" + "g", 300), ("0x" + "0g" * 149, 300), ("0X" + "0", 300), ("0x\uff10", 300), ("0x0F", 1000)],
    ids=["text", "no digit", "digits and others", "another prefix", "digits of other scripts", "bytes"],
)
def test_a_text_is_whole_up_to_its_limit_and_cut_beyond(text, length):
    whole = text.ljust(length, text[-1])
    assert cell_text(whole).plain == whole
    assert cell_text(f"{whole}0").plain == f"{whole[:300]}… ({length + 1} characters)"


def test_a_tag_that_pretends_to_be_bytes_is_cut(bilateral, reputation, client):
    send(client, reputation, feedback(b"0x" + b"all is fine " * 200))
    ran = bilateral("feedback", "list", 1)
    assert ran.code == 0
    assert '(blanks) "0xall is fine' in ran.out  # it ends with a blank, and the mark for that counts
    assert "… (2413 characters)" in ran.out
    assert ran.out.count("all is fine") == 24


def test_a_whole_authorisation_is_shown(bilateral, owner, client):
    authorization = bilateral("auth", "create", 1, client.address, key=owner).out.strip()
    assert authorization in bilateral("auth", "show", authorization).out


def test_a_hostile_document_is_shown_literally(bilateral, done, identity, owner):
    file = {
        "type": "https://eips.ethereum.org/EIPS/eip-8004#registration-v1",
        "name": MARKUP,
        "description": CONTROLS,
        "image": "javascript:alert(1)",
        CONTROLS: {MARKUP: [CONTROLS]},
    }
    identity.setAgentURI(1, DataUriStore().put(json.dumps(file).encode()).uri, sender=owner)
    ran = bilateral("agent", "show", 1)
    assert ran.code == 0
    assert MARKUP in ran.out
    assert ESCAPED in ran.out
    assert not acts(ran.out + ran.err)
    assert done("agent", "show", 1)["file"][CONTROLS] == {MARKUP: [CONTROLS]}


def test_an_agent_whose_file_lies_at_a_private_address_is_shown_without_it(bilateral, done, identity, owner):
    identity.setAgentURI(1, "http://169.254.169.254/latest/meta-data", sender=owner)
    agent = done("agent", "show", 1)
    assert (agent["file"], agent["file_problem"]["reason"]) == (None, "forbidden_address")
    assert "not a public address" in bilateral("agent", "show", 1).out


def test_hostile_metadata_and_domains_are_shown_literally(bilateral, identity, owner, stranger):
    identity.setMetadata(1, MARKUP, CONTROLS.encode(), sender=owner)
    identity.newAgent(CONTROLS, stranger, sender=stranger)
    for command in (
        ["agent", "metadata", 1, MARKUP],
        ["agent", "resolve", stranger.address],
        ["agent", "resolve", CONTROLS],
    ):
        ran = bilateral(*command)
        assert ran.code == 0
        assert ESCAPED in ran.out
        assert not acts(ran.out + ran.err)


def test_a_hostile_registry_cannot_act_by_its_refusal(bilateral, chain, reputation):
    """The text of a revert is a stranger's where a record or a node is."""
    reason = keccak(text="Error(string)")[:4] + encode(["string"], [MARKUP + CONTROLS])
    size = len(reason).to_bytes(2)
    # PUSH2 size, PUSH1 12, PUSH0, CODECOPY, PUSH2 size, PUSH0, REVERT, and what is reverted with
    code = b"\x61" + size + b"\x60\x0c\x5f\x39\x61" + size + b"\x5f\xfd" + reason
    chain.provider.set_code(reputation.address, "0x" + code.hex())
    for options in ([], ["--json"]):
        ran = bilateral("feedback", "list", 1, *options)
        assert ran.code == 4
        assert not acts(ran.out + ran.err)
    assert MARKUP in bilateral("feedback", "list", 1).err


@pytest.mark.parametrize("character", [*map(chr, range(0x20)), "\x7f", "\x9b", "\u2028", "\u200e", "\u2066", "\ud800"])
def test_no_character_acts(character, capsys):
    assert cell_text(f"a{character}b").plain.isprintable()
    assert cell_text({character: [character]}).plain.isprintable()
    Output(as_json=False).note(f"a{character}b")
    assert not acts(capsys.readouterr().err.removesuffix("\n"))


def test_an_agent_of_many_services_is_cut_for_people(bilateral, identity, owner):
    file = {"services": [{"name": "web", "endpoint": "x"}] * 250}
    identity.setAgentURI(1, DataUriStore().put(json.dumps(file).encode()).uri, sender=owner)
    ran = bilateral("agent", "show", 1)
    assert (ran.code, ran.out.count("\n") < 250, "… and 50 more, see --json" in ran.out) == (0, True, True)


def test_a_value_of_many_parts_is_cut_for_people(capsys):
    deep = {"a": "end"}
    for _ in range(60):
        deep = {"a": deep}
    Output(as_json=False).result({"wide": [*range(1000), {}], "long": ["x"] * 1000, "deep": deep, "x" * 1000: 1})
    shown = capsys.readouterr().out
    assert shown.count("\n") < 500
    assert "and more, see --json" in shown


def test_no_message_acts(capsys):
    Output(as_json=False).note(CONTROLS)
    Output(as_json=False).result({"x": MARKUP}, title=CONTROLS)
    written = capsys.readouterr()
    assert not acts(written.out + written.err)
    assert MARKUP in written.out
