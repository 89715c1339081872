"""The migrations form one line, the package knows all of them, and old databases get what new ones have."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import insert, inspect, select, text

import bilateral.index.migrate
from bilateral.caip import base58_bytes
from bilateral.contracts import Registry
from bilateral.events import EVENTS, Approval, MetadataSet, ResponseAppended
from bilateral.index.derive import activity
from bilateral.index.files.reading import read_content
from bilateral.index.migrate import upgrade_within
from bilateral.index.store.database import connect_engine
from bilateral.index.tables import analysis, files, payments, schema, search
from bilateral.index.tables.files import Kind, State
from bilateral.index.tables.views import VIEWS, fingerprint
from bilateral.solana.addresses import MAINNET, SATI
from tests.api.world import index_world


def migrations():
    """Return the modules of the migrations, the oldest first."""
    config = Config()
    config.set_main_option("script_location", str(Path(bilateral.index.migrate.__file__).with_name("migrations")))
    return [revision.module for revision in reversed(list(ScriptDirectory.from_config(config).walk_revisions()))]


def texts_of_views(connection):
    """Return the text of each view, as the engine stores it."""
    if connection.dialect.name == "sqlite":
        stored = "SELECT name, sql FROM sqlite_master WHERE type = 'view'"
    else:
        stored = "SELECT viewname, definition FROM pg_views WHERE schemaname = current_schema()"
    return dict(connection.execute(text(stored)).tuples().all())


def test_the_migrations_form_one_line_that_the_package_knows():
    assert tuple(migration.revision for migration in migrations()) == schema.REVISIONS


def test_migration_that_others_may_have_run_never_changes():
    """Run `sha256sum 0*.py` among the migrations, and write the result to the list, to add one."""
    folder = Path(bilateral.index.migrate.__file__).parent / "migrations" / "versions"
    listed = Path(__file__).with_name("landed_migrations.sha256").read_text(encoding="utf-8").splitlines()
    landed = {name: digest for digest, name in map(str.split, listed)}
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("0*.py")}
    assert {name: hashes.get(name) for name in landed} == landed, "write a new migration instead"
    assert len(hashes) - len(landed) <= 1, "add the migrations that landed to landed_migrations.sha256"


def test_views_have_the_text_of_the_last_migration_that_replaces_them():
    noted = [migration.VIEWS for migration in migrations() if hasattr(migration, "VIEWS")]
    assert noted[-1] == fingerprint(), "the text of a view changed: add a migration that replaces the views"


def test_old_database_gets_the_present_views(new_database_url):
    engine = connect_engine(new_database_url)
    with engine.begin() as connection:
        upgrade_within(connection, "0009")
        present = texts_of_views(connection)
        # The first text of the view has no plus signs. The other one lacks columns.
        former = {
            "feedback": VIEWS["feedback"].replace("(+", "("),
            "rating": "SELECT chain_id, registry, client_id AS agent_id FROM client_rated",
        }
        for name, query in former.items():
            connection.exec_driver_sql(f'DROP VIEW "{name}"')
            connection.exec_driver_sql(f'CREATE VIEW "{name}" AS {query}')
        assert {name for name, view in texts_of_views(connection).items() if view != present[name]} == set(former)
    with engine.begin() as connection:
        upgrade_within(connection)
        assert texts_of_views(connection) == present
        assert set(present) == set(VIEWS)
    engine.dispose()


FILLED = (files.registration_card, search.agent_file, search.known_word, activity.agent_activity)
"""Tables that migrations fill from the files and events of an old index."""


def contents(connection):
    return {item.name: sorted(map(repr, connection.execute(select(item)).all())) for item in FILLED}


def return_to_0006(connection):
    """Remove what the later migrations made, as an index of the version 0006 has it not."""
    if connection.dialect.name == "sqlite":
        for name in ("registration_words_inserted", "registration_words_deleted"):
            connection.exec_driver_sql(f"DROP TRIGGER {name}")
        connection.exec_driver_sql("DROP TABLE agent_words")
    activity.metadata.drop_all(connection)
    payments.metadata.drop_all(connection)
    search.metadata.drop_all(connection)
    files.registration_card.drop(connection)
    connection.exec_driver_sql("ALTER TABLE counterpart DROP COLUMN unit_sum")
    for event in (Approval, MetadataSet):
        for index in schema.EVENT_TABLES[event].indexes:
            index.drop(connection)
    connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0006'")


def test_index_of_a_real_chain_gets_what_later_versions_derive_from_its_files(api_world, new_database_url):
    index_world(api_world, new_database_url)
    engine = connect_engine(new_database_url)
    with engine.begin() as connection:
        filled = contents(connection)
        assert all(filled.values())
        return_to_0006(connection)
    with engine.begin() as connection:
        assert upgrade_within(connection) == "0006"
        assert contents(connection) == filled
    engine.dispose()


@pytest.fixture
def old_database(new_database_url):
    """A database of version 0010."""
    engine = connect_engine(new_database_url)
    with engine.begin() as connection:
        upgrade_within(connection)
        activity.metadata.drop_all(connection)
        for statement in (
            "DROP INDEX summary_by_lower_bound",
            "CREATE INDEX summary_by_lower_bound ON summary (chain_id, side, tag, lower_bound)",
            "UPDATE alembic_version SET version_num = '0010'",
        ):
            connection.execute(text(statement))
    yield engine
    engine.dispose()


def test_an_older_index_of_lower_bounds_gets_all_columns(old_database):
    with old_database.begin() as connection:
        assert upgrade_within(connection) == "0010"
    (index,) = (
        index for index in inspect(old_database).get_indexes("summary") if index["name"] == "summary_by_lower_bound"
    )
    assert index["column_names"][-3:] == ["count", "counterparts", "mean"]


def test_older_index_gets_the_tables_of_buyer_registries(new_database_url):
    engine = connect_engine(new_database_url)
    of_buyers = [schema.EVENT_TABLES[event] for event in EVENTS[Registry.BUYERS]]
    others = [payments.buyer_anchor, payments.buyer_state, payments.buyer_reply]
    with engine.begin() as connection:
        upgrade_within(connection)
        connection.execute(insert(schema.chain).values(**_values(schema.chain, chain_id=7, block_number=9)))
        activity.metadata.drop_all(connection)
        schema.metadata.drop_all(connection, tables=of_buyers)
        payments.metadata.drop_all(connection, tables=others)
        connection.execute(text("UPDATE alembic_version SET version_num = '0011'"))
    with engine.begin() as connection:
        assert upgrade_within(connection) == "0011"
        for table in (*of_buyers, *others):
            connection.execute(insert(table).values(**_values(table, chain_id=7)))  # PostgreSQL has a partition for it
            names = {index["name"] for index in inspect(connection).get_indexes(table.name)}
            assert names >= {index.name for index in table.indexes}
    engine.dispose()


def test_older_index_gets_the_column_of_lost_logs(new_database_url):
    engine = connect_engine(new_database_url)
    with engine.begin() as connection:
        upgrade_within(connection)
        connection.execute(text("ALTER TABLE endpoint_limit DROP COLUMN lost_logs_at"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0013'"))
    with engine.begin() as connection:
        assert upgrade_within(connection) == "0013"
        connection.execute(insert(schema.endpoint_limit).values(chain_id=1, endpoint="a", blocks=1, learnt_at=1))
    engine.dispose()


def test_older_index_gets_the_order_of_answers_and_of_received_payments(new_database_url):
    engine = connect_engine(new_database_url)
    answers = schema.EVENT_TABLES[ResponseAppended]
    with engine.begin() as connection:
        upgrade_within(connection)
        for statement in (
            "DROP INDEX response_appended_by_responder",
            "DROP INDEX payment_by_payee",
            "CREATE INDEX payment_by_payee ON payment (chain_id, payee, payer)",
            "UPDATE alembic_version SET version_num = '0015'",
        ):
            connection.execute(text(statement))
    with engine.begin() as connection:
        assert upgrade_within(connection) == "0015"
        for table in (answers, payments.payment):
            columns = {index["name"]: index["column_names"] for index in inspect(connection).get_indexes(table.name)}
            assert columns == {index.name: [column.name for column in index.columns] for index in table.indexes}
    engine.dispose()


@pytest.mark.parametrize("new_database_url", ["postgresql"], indirect=True)  # SQLite keeps its indexes
def test_older_index_gets_indexes_that_lead_from_words_to_agents(new_database_url):
    engine = connect_engine(new_database_url)
    with engine.begin() as connection:
        upgrade_within(connection)
        expected = _indexes(connection)
        for statement in (
            "DROP INDEX file_by_id",
            "DROP INDEX file_by_content",
            "DROP INDEX agent_file_by_file",
            "CREATE INDEX file_by_content ON file (content_hash)",
            "CREATE INDEX agent_file_by_file ON agent_file (file_id)",
            "UPDATE alembic_version SET version_num = '0020'",
        ):
            connection.execute(text(statement))
    with engine.begin() as connection:
        assert _indexes(connection) != expected
        assert upgrade_within(connection) == "0020"
        assert _indexes(connection) == expected
    engine.dispose()


def _indexes(connection):
    """Return the indexes by which searches lead from words to agents."""
    names = {"file_by_content", "file_by_id", "agent_file_by_file"}
    stored = [index for table in ("file", "agent_file") for index in inspect(connection).get_indexes(table)]
    return {name["name"]: (name["column_names"], name["dialect_options"]) for name in stored if name["name"] in names}


def test_older_index_gets_the_notes_of_learned_payments_and_analyses(new_database_url):
    engine = connect_engine(new_database_url)
    noted = {
        analysis.analysis: {"run", "seen_block", "first_run", "first_seen_block"},
        analysis.funding: {"seen_block"},
    }
    with engine.begin() as connection:
        upgrade_within(connection)
        payments.late_payment.drop(connection)
        for table, names in noted.items():
            for name in sorted(names):
                connection.execute(text(f"ALTER TABLE {table.name} DROP COLUMN {name}"))
            connection.execute(insert(table).values(**_values(table)))
        connection.execute(text("UPDATE alembic_version SET version_num = '0014'"))
    with engine.begin() as connection:
        assert upgrade_within(connection) == "0014"
        for table, names in noted.items():
            row = connection.execute(select(table)).mappings().one()
            assert {row[name] for name in names} == {None}  # it counts from the block that it saw
        connection.execute(insert(payments.late_payment).values(**_values(payments.late_payment)))
        (index,) = inspect(connection).get_indexes("late_payment")
        assert index["name"] == "late_payment_by_sight"
    engine.dispose()


def test_messages_of_an_older_index_find_their_payments_by_position(new_database_url):
    """A message whose payment has left, or whose log has moved, gets the lowest free position of its transaction."""
    engine, tables = connect_engine(new_database_url), (payments.buyer_feedback, payments.agent_review)
    with engine.begin() as connection:
        upgrade_within(connection)
        expected = {table: inspect(connection).get_indexes(table.name) for table in tables}
        buyer, transaction, other = "0x" + "b1" * 20, bytes([1]) * 32, bytes([2]) * 32
        for log_index in (5, 9):
            place = {"block_number": 3, "log_index": log_index, "transaction_hash": transaction, "payer": buyer}
            connection.execute(insert(payments.payment).values(**_values(payments.payment, chain_id=7, **place)))
        for number, (of, log_index) in enumerate([(transaction, 9), (transaction, 5), (transaction, 7), (other, 4)]):
            told = {"id": str(number), "transaction_hash": of, "payment_position": log_index, "buyer": buyer}
            for table in tables:
                connection.execute(insert(table).values(**_values(table, chain_id=7, **told)))
        for table in (*tables, payments.buyer_dispute):
            connection.execute(text(f"ALTER TABLE {table.name} RENAME payment_position TO payment_log_index"))
        connection.execute(text("ALTER TABLE payment DROP COLUMN position"))
        connection.execute(text("ALTER TABLE buyer_state DROP COLUMN node"))
        connection.execute(text("ALTER TABLE payment_cursor DROP COLUMN confirmations"))
        payments.buyer_tree.drop(connection)
        connection.execute(text("UPDATE alembic_version SET version_num = '0021'"))
    with engine.begin() as connection:
        assert upgrade_within(connection) == "0021"
        positions = select(payments.payment.c.position).order_by(payments.payment.c.log_index)
        assert connection.execute(positions).scalars().all() == [0, 1]
        for table in tables:
            values = connection.execute(select(table.c.payment_position).order_by(table.c.id)).scalars().all()
            assert values == [1, 0, 2, 0]
            assert inspect(connection).get_indexes(table.name) == expected[table]
        assert inspect(connection).has_table("buyer_tree")
        connection.execute(insert(payments.buyer_state).values(**_values(payments.buyer_state, node=1)))
    engine.dispose()


def test_files_seen_before_checks_are_noted_at_the_last_block(new_database_url):
    engine = connect_engine(new_database_url)
    with engine.begin() as connection:
        upgrade_within(connection, "0003")
        connection.execute(text("DROP TABLE file_sight"))
        connection.execute(insert(schema.chain).values(**_values(schema.chain, chain_id=7, block_number=9)))
        for name, state in (("seen", State.FAILED), ("waiting", State.WAITING)):
            row = _values(files.file, file_id=name.encode().ljust(32), state=state, next_at=None, lease=None)
            connection.execute(insert(files.file).values(**row))
    with engine.begin() as connection:
        upgrade_within(connection, "0004")
        rows = connection.execute(select(files.file_sight.c.file_id, files.file_sight.c.seen_block)).all()
    engine.dispose()
    assert rows == [(b"seen".ljust(32), 9)]


def test_files_read_before_solana_get_the_agents_that_they_claim(new_database_url):
    engine = connect_engine(new_database_url)
    mint = "5" * 44
    claims = [{"agentRegistry": f"{MAINNET}:{SATI}", "agentId": mint}, {"agentRegistry": "eip155:1:0x", "agentId": 3}]
    raw = json.dumps({"registrations": claims}).encode()
    rows = read_content(Kind.REGISTRATION, bytes(32), raw)[files.registration_claim]
    assert rows[0]["agent_id"] == int.from_bytes(base58_bytes(mint))
    with engine.begin() as connection:
        upgrade_within(connection, "0028")
        connection.execute(insert(files.file_content).values(content_hash=bytes(32), size=len(raw), content=raw))
        connection.execute(insert(files.registration_claim), [rows[0] | {"agent_id": None}, rows[1]])
    with engine.begin() as connection:
        assert upgrade_within(connection) == "0028"
        kept = connection.execute(select(files.registration_claim).order_by(files.registration_claim.c.position))
        assert kept.mappings().all() == rows
    engine.dispose()


def _values(table, **values):
    """Return a row, with a value of its type in each column that is not given."""
    kinds = {int: 0, bytes: bytes(32), str: "", float: 0.0, bool: False, object: 0}  # a wide integer is an object
    return {column.name: kinds[column.type.python_type] for column in table.c if not column.nullable} | values
