"""README's table of addresses is what the records say."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from scripts import addresses as command
from scripts._deployment.address_table import BEGIN, END, with_addresses
from scripts._deployment.records import ChainRecord, ContractRecord
from tests.deployment.test_records import ENTRY

PAGE = f"before\n{BEGIN}stale\n{END}after\n"


def record(chain_id=84532, network="base:sepolia", **changes):
    entry = ContractRecord.model_validate(ENTRY | changes)
    return ChainRecord(chain_id=chain_id, network=network, contracts={"Some": entry})


def test_table_has_a_row_a_contract_and_keeps_the_rest_of_the_page():
    assert with_addresses(PAGE, [record()]) == (
        f"before\n{BEGIN}\n| network | chain id | contract | address |\n| --- | --- | --- | --- |\n"
        f"| base:sepolia | 84532 | Some | `{ENTRY['address']}` |\n\n{END}after\n"
    )


def test_verified_contract_is_linked():
    row = f"| [`{ENTRY['address']}`](https://explorer.example/a), verified |"
    assert row in with_addresses(PAGE, [record(verified=True, explorer="https://explorer.example/a")])


def test_networks_are_sorted_and_local_chains_left_out():
    page = with_addresses(PAGE, [record(), record(43113, "avalanche:fuji"), record(31337, "ethereum:local")])
    assert page.index("avalanche:fuji") < page.index("base:sepolia")
    assert "ethereum:local" not in page


def test_no_record_gives_no_table():
    assert with_addresses(PAGE, []) == f"before\n{BEGIN}{END}after\n"


def test_readme_is_not_stale():
    assert CliRunner().invoke(command.cli, ["--check"]).exit_code == 0


@pytest.fixture
def stale_readme(tmp_path, monkeypatch):
    readme = tmp_path / "README.md"
    readme.write_text(PAGE)
    monkeypatch.setattr(command, "README", readme)
    return readme


def test_stale_table_fails_the_check_and_is_left_alone(stale_readme):
    result = CliRunner().invoke(command.cli, ["--check"])
    assert result.exit_code == 1
    assert result.output == "Error: README.md's addresses are stale: make addresses\n"
    assert stale_readme.read_text() == PAGE


def test_stale_table_is_renewed(stale_readme):
    assert CliRunner().invoke(command.cli).exit_code == 0
    assert "stale" not in stale_readme.read_text()
    assert CliRunner().invoke(command.cli, ["--check"]).exit_code == 0
