"""Records are whole, checked and reproducible files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts._build import ROOT
from scripts._deployment.errors import DeploymentError
from scripts._deployment.records import ChainRecord, ContractRecord, Records
from scripts._files import write_atomically

ENTRY = {
    "address": "0x4e59b44847b379578588920cA78FbF26c0B4956C",
    "block": 5,
    "codeHash": f"0x{1:064x}",
    "compiler": "0.8.37+commit.f401782d",
    "constructorArguments": {},
    "deployer": None,
    "explorer": None,
    "gitCommit": "unknown",
    "initCodeHash": f"0x{2:064x}",
    "salt": f"0x{3:064x}",
    "settings": {},
    "source": "contracts/Some.sol",
    "transaction": None,
    "verified": False,
}


def write(records, chain_id=5, **changes):
    content = {"chainId": chain_id, "network": "a:b", "contracts": {"Some": ENTRY | changes}}
    records.folder.mkdir(exist_ok=True)
    records.path(5).write_text(json.dumps(content))


def test_record_is_read_as_it_was_written(records):
    record = ChainRecord(chain_id=5, network="a:b", contracts={"Some": ContractRecord.model_validate(ENTRY)})
    records.save(record)
    assert records.load(5) == record


def test_record_of_an_earlier_version_is_read(records):
    """Records had no fields about origin, upgrades, the first agent and functions."""
    write(records)
    entry = records.load(5).contracts["Some"]
    assert (entry.origin, entry.upgradable, entry.first_agent_id, entry.functions) == ("bilateral", False, None, None)
    records.save(records.load(5))
    written = json.loads(records.path(5).read_text())["contracts"]["Some"]
    assert written == ENTRY | {"origin": "bilateral", "upgradable": False, "firstAgentId": None, "functions": None}


def test_keys_are_sorted_and_what_is_pending_appears_only_while_something_is():
    record = ChainRecord(chain_id=5, network="a:b")
    assert record.to_json() == '{\n  "chainId": 5,\n  "contracts": {},\n  "network": "a:b"\n}\n'
    record.pending["Some"] = f"0x{1:064x}"
    assert list(json.loads(record.to_json())) == ["chainId", "contracts", "network", "pending"]


def test_abi_is_not_on_record():
    assert not any("abi" in name for name in ContractRecord.model_fields)


def test_chain_without_a_record_has_an_empty_one(records):
    assert records.load(5, "a:b") == ChainRecord(chain_id=5, network="a:b")
    assert not records.path(5).exists()


@pytest.mark.parametrize(
    ("changes", "mistake"),
    [
        ({"address": ENTRY["address"].lower()}, "contracts.Some.address: Value error, .* valid checksum"),
        ({"block": -1}, "contracts.Some.block: Input should be greater than or equal to 0"),
        ({"salt": "0x01"}, "contracts.Some.salt: String should match pattern"),
        ({"abi": []}, "contracts.Some.abi: Extra inputs are not permitted"),
        ({"chain_id": 6}, "it is the record of chain 6"),
    ],
)
def test_file_that_is_not_a_record_of_the_chain_is_refused(records, changes, mistake):
    write(records, **changes)
    with pytest.raises(DeploymentError, match=rf"5\.json: {mistake}"):
        records.load(5)


def test_truncated_file_is_refused(records):
    write(records)
    text = records.path(5).read_text()
    records.path(5).write_text(text[:-10])
    with pytest.raises(DeploymentError, match=r"5\.json: Invalid JSON"):
        records.load(5)


@pytest.mark.parametrize(
    ("content", "mistake"),
    [
        (b"", "Invalid JSON: EOF while parsing a value at line 1 column 0"),
        (b"[]", "Input should be an object"),
        (b'{"network": "\xff"}', "Invalid JSON: invalid unicode code point at line 1 column 14"),
    ],
    ids=["empty", "a list", "not UTF-8"],
)
def test_file_that_is_nothing_like_a_record_is_refused_in_one_line(records, content, mistake):
    records.folder.mkdir()
    records.path(5).write_bytes(content)
    with pytest.raises(DeploymentError) as refusal:
        records.load(5)
    assert refusal.value.message == f"{records.path(5)}: {mistake}"


def test_record_that_cannot_be_read_is_refused(records):
    records.path(5).mkdir(parents=True)
    with pytest.raises(DeploymentError) as refusal:
        records.load(5)
    assert refusal.value.message == f"{records.path(5)}: Is a directory"


def test_records_are_listed_by_chain(records):
    for chain_id in (84532, 5):
        records.save(ChainRecord(chain_id=chain_id, network="a:b"))
    assert [record.chain_id for record in records.load_all()] == [5, 84532]


def test_record_that_was_put_aside_is_not_listed(records):
    records.save(ChainRecord(chain_id=5, network="a:b"))
    records.path(5).rename(records.folder / "5-former.json")
    assert records.load_all() == []


def test_records_of_the_project_are_valid():
    for record in Records(ROOT / "deployments").load_all():
        assert not record.pending


def test_failed_write_leaves_the_former_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, "old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_lock_is_for_one_chain(records):
    with records.locked(5), records.locked(6):
        pass


def test_lock_ends_with_the_run(records):
    for _ in range(2):
        with records.locked(5):
            pass
