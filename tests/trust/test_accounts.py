"""Files and databases of tables: addresses in any spelling are one account each, and wrong values are named."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from eth_utils import to_checksum_address

from bilateral.core.errors import InvalidArgumentError
from bilateral.trust.engine import Engine
from bilateral.trust.results import Results
from bilateral.trust.tables.accounts import ACCOUNTS, unrelated_columns
from bilateral.trust.tables.coding import coded
from bilateral.trust.tables.schema import COLUMNS, OPTIONAL, Tables
from tests.trust.conftest import address_of, addressed

SOLANA = "So11111111111111111111111111111111111111112"


@pytest.fixture
def tables(market):
    """A market with a ring, which the transfers tell."""
    for number in range(24):
        market.transfer("boss", f"sybil{number}", 5.0, 6000.0 + number)
        market.feedback(f"sybil{number}", 7, 100, 7000.0 + number)
    return addressed(market.tables())


def of(tables):
    return {name: getattr(tables, name) for name in COLUMNS}


def spelled(made, name, column, spell):
    """Return tables of which one column is spelled in another way."""
    texts = pa.array([text and spell(text) for text in made[name][column].to_pylist()], pa.string())
    return made | {name: made[name].set_column(made[name].column_names.index(column), column, texts)}


def changed(tables, name, column, row, value):
    """Return tables of which one value is another."""
    table = getattr(tables, name)
    values = table[column].to_pylist()
    values[row] = value
    return of(tables) | {name: table.set_column(table.column_names.index(column), column, pa.array(values))}


def read_from(made, folder):
    for name, table in made.items():
        pq.write_table(table, folder / f"{name}.parquet")
    return Tables.read(folder)


def same(first, second):
    assert first.addresses.equals(second.addresses)
    assert first.agents.equals(second.agents)


SPELLINGS = [to_checksum_address, lambda text: "0X" + text[2:].upper()]


@pytest.mark.sample(1)
@pytest.mark.parametrize("spell", SPELLINGS, ids=["checksum", "capitals"])
@pytest.mark.parametrize(("name", "column"), [("transfers", "dst"), ("feedback", "client"), ("agents", "owner")])
def test_an_account_in_two_spellings_is_one_account(tables, tmp_path, name, column, spell):
    wanted = Results.of(Engine().fit(tables))
    assert any(wanted.addresses["threshold_flag"].to_pylist())
    mixed = spelled(of(tables), name, column, spell)
    same(Results.of(Engine().fit(Tables.of(**mixed))), wanted)
    same(Results.of(Engine().fit(read_from(mixed, tmp_path))), wanted)


def test_accounts_that_are_spelled_alike_everywhere_keep_their_spelling(tables):
    made = of(tables)
    for name, columns in ACCOUNTS.items():
        for column in columns:
            made = spelled(made, name, column, to_checksum_address)
    addresses = coded(Tables.of(**made)).addresses.to_pylist()
    assert all(address == to_checksum_address(address) for address in addresses)


def test_holders_and_operators_in_another_spelling_are_the_same_accounts(tables):
    kinds, owner = OPTIONAL["agents"], address_of("owner3")
    size = tables.agents.num_rows
    lists = [[address_of(f"client{number}"), None] if number else None for number in range(size)]
    holders = [[{"account": owner, "since": float(number)}] for number in range(size)]

    def with_lists(spell):
        held = [[{**entry, "account": spell(entry["account"])} for entry in row] for row in holders]
        approved = [row and [text and spell(text) for text in row] for row in lists]
        agents = tables.agents.append_column("operators", pa.array(approved, kinds["operators"]))
        return coded(
            Tables.of(**of(tables) | {"agents": agents.append_column("holders", pa.array(held, kinds["holders"]))})
        )

    plain, other = with_lists(str), with_lists(to_checksum_address)
    assert len(plain.operated) == size - 1
    assert np.array_equal(plain.operated, other.operated)
    assert plain.addresses.equals(other.addresses)


def test_an_account_of_solana_keeps_its_letters(scene, tmp_path):
    scene.agent(1, address_of("owner"))
    scene.feedback(SOLANA, 1, 90)
    scene.feedback(SOLANA.replace("S", "s"), 1, 90)
    scene.tables().write(tmp_path)
    assert {SOLANA, SOLANA.replace("S", "s")} < set(coded(Tables.read(tmp_path)).addresses.to_pylist())


@pytest.mark.parametrize("text", ["0x12", "alice.eth", "", "0x" + "g" * 40, f"0x{1:040x} ", f"0x{1:041x}"])
def test_an_invalid_address_is_refused_with_its_row(tables, tmp_path, text):
    made = changed(tables, "payments", "payer", 0, text) if tables.payments.num_rows else None
    made = made or changed(tables, "transfers", "src", 4, text)
    wanted = rf'^transfers\.src has "{text}" in row 5: write an address, as 0x and 40 hexadecimal digits, or null$'
    with pytest.raises(InvalidArgumentError, match=wanted):
        read_from(made, tmp_path)


@pytest.mark.parametrize(
    ("name", "column", "value", "message"),
    [
        ("agents", "agent_id", 1.5, r"agents\.agent_id has 1\.5 in row 3, which cannot be read as int64"),
        ("agents", "agent_id", 2**64 - 1.0, r"agents\.agent_id has .* in row 3, which cannot be read as int64"),
        ("agents", "agent_id", float("nan"), r"agents\.agent_id is empty in row 3: give each agent its number"),
        ("agents", "agent_id", -4, r"agents\.agent_id has -4 in row 3: agent numbers must not be negative"),
        ("agents", "agent_id", 1, r"agents\.agent_id has 1 in row 1 and again in row 3: keep one row per agent"),
        ("feedback", "agent_id", 7.25, r"feedback\.agent_id has 7\.25 in row 3, which cannot be read as int64"),
        ("agents", "owner", None, r"agents\.owner is empty in row 3: give each agent an owner"),
    ],
)
def test_a_wrong_value_is_named_with_its_row(tables, name, column, value, message):
    made = changed(tables, name, column, 2, value)
    with pytest.raises(InvalidArgumentError, match=f"^{message}$"):
        Tables.of(**made)


def test_an_invalid_number_is_named_with_its_row(tables):
    values = [str(value) for value in tables.feedback["value"].to_pylist()]
    values[800] = "ninety"
    feedback = tables.feedback.set_column(3, "value", pa.array(values))
    with pytest.raises(InvalidArgumentError, match=r'^feedback\.value has "ninety" in row 801, which cannot be read'):
        Tables.of(**of(tables) | {"feedback": feedback})


def test_whole_numbers_that_pandas_keeps_as_floats_are_taken(tables):
    ratings = pa.table(
        {name: pa.array([None], kind) for name, kind in COLUMNS["ratings"].items()}
        | {"validator_id": pa.array([float("nan")]), "server_id": pa.array([2.0])}
    )
    read = Tables.of(**of(tables) | {"ratings": ratings}).ratings
    assert (read["validator_id"].to_pylist(), read["server_id"].to_pylist()) == ([None], [2])


def test_tables_of_other_accounts_are_told(tables):
    assert unrelated_columns(of(tables)) == []
    other = spelled(of(tables), "transfers", "dst", address_of)
    assert unrelated_columns(other) == [
        "only 0 of the 224 accounts in feedback.client are in transfers.dst: check that both tables are from the same "
        "chain and time"
    ]


def test_a_few_accounts_tell_nothing_about_tables(scene):
    for number in range(19):
        scene.feedback(f"client{number}", 1, 90)
        scene.transfer("exchange", f"other{number}")
    scene.agent(1, "owner")
    assert unrelated_columns(of(scene.tables())) == []
    scene.feedback("client19", 1, 90)
    scene.transfer("exchange", "other19")
    assert len(unrelated_columns(of(scene.tables()))) == 1
