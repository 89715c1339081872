"""Set-up, workers and readers of shards need no more rights than docs/operating.md names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError

from bilateral.index.errors import DatabaseUnavailableError
from bilateral.index.files.worker import FileSettings
from bilateral.index.log.database import named_database_errors
from bilateral.index.operating.settings import Shard
from bilateral.index.shards.coordinator import update_shards
from tests.api.world import CHAIN_ID
from tests.commands import run_here
from tests.index.shards.world import OTHER_CHAIN, index_both, two_chains
from tests.postgres import administer

ROLES = ("keeper", "reader")


def as_role(url, role, password=None):
    """Return the URL of a database as a role sees it."""
    known = make_url(url).set(username=role, password=password or f"{role}'s 100%")
    return known.render_as_string(hide_password=False)


@pytest.fixture(scope="module")
def owned(servers):
    """The URLs of three empty databases whose owner has no further rights, and logs in by a password."""
    for url, process in zip(servers.urls, servers.processes, strict=True):
        for role in ROLES:
            administer(url, f"CREATE ROLE {role} LOGIN PASSWORD '{role}''s 100%'")
        rules = Path(process.pgdata) / "pg_hba.conf"
        rules.write_text(f"local all {','.join(ROLES)} scram-sha-256\n" + rules.read_text())
        administer(url, "SELECT pg_reload_conf()")
    urls = [servers.database(number, name) for number, name in ((0, "owned"), (0, "owned_a"), (1, "owned_b"))]
    for url in urls:
        administer(url, f"ALTER DATABASE {make_url(url).database} OWNER TO keeper")
    return urls


@pytest.fixture(scope="module")
def settings(owned, api_world):
    """The settings of the owner."""
    coordinator, *shards = (as_role(url, "keeper") for url in owned)
    with two_chains(api_world) as plain:
        named = zip("ab", shards, (CHAIN_ID, OTHER_CHAIN), strict=True)
        shards = {name: Shard(url=url, chains=[chain]) for name, url, chain in named}
        yield replace(plain, database=coordinator, shards=shards, files=FileSettings(workers=0))


def refusal(settings, url=""):
    """Return the line that ends the set-up of shards, of which one may have another URL."""
    shards = {**settings.shards, **({"a": Shard(url=url, chains=[CHAIN_ID])} if url else {})}
    with pytest.raises(DatabaseUnavailableError) as caught, named_database_errors():
        update_shards(settings.database, shards)
    return str(caught.value)


@pytest.fixture(scope="module")
def refusals(owned, settings):
    """The errors of the set-up, right by right, until it has all. Readers get theirs after it."""
    administrator, keeper = owned[0], settings.shards["a"].url
    told = {"an extension": refusal(settings)}
    administer(administrator, "CREATE EXTENSION postgres_fdw")
    told["other servers"] = refusal(settings)
    administer(administrator, "GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO keeper")
    told["tables"] = refusal(settings, as_role(owned[1], "reader"))
    told["a password"] = refusal(settings, as_role(keeper, "keeper", "other"))
    trusted = Path(make_url(keeper).query["host"]) / "pg_hba.conf"
    rules = trusted.read_text()
    trusted.write_text(rules.replace("scram-sha-256", "trust", 1))
    administer(administrator, "SELECT pg_reload_conf()")
    told["a server that asks for it"] = refusal(settings)
    trusted.write_text(rules)
    administer(administrator, "SELECT pg_reload_conf()")
    administer(settings.database, "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO reader")
    update_shards(settings.database, settings.shards)
    administer(settings.database, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    index_both(settings, settings.database)
    return told


@pytest.mark.parametrize(
    ("lacking", "sentence"),
    [
        ("an extension", "the coordinator may not read other servers: let an administrator run CREATE EXTENSION"),
        ("other servers", "the coordinator may not read other servers: let an administrator run CREATE EXTENSION"),
        ("tables", "shard a: the database is read-only: change the permissions"),
        ("a password", "shard a: the database server rejected the user or password"),
        ("a server that asks for it", "shard a: the database server rejected the user or password"),
    ],
)
def test_set_up_that_lacks_a_right_says_which_and_is_safe_to_retry(refusals, lacking, sentence):
    assert refusals[lacking].startswith(sentence)
    assert "\n" not in refusals[lacking]


def searched(owned, *words):
    """Return the exit code of a reader's search, the chains of the agents, and the error."""
    code, out, err = run_here("search", *words, "--database", as_role(owned[0], "reader"), "--json")
    return code, {agent["chain_id"] for agent in json.loads(out)["items"]} if out else set(), err


def test_reader_needs_select_alone_and_cannot_write(refusals, owned):
    assert searched(owned)[:2] == (0, {CHAIN_ID, OTHER_CHAIN})
    for statement in ("INSERT INTO chain (chain_id) VALUES (31338)", "CREATE TABLE other ()", "DROP TABLE chain"):
        with pytest.raises(DBAPIError, match=r"permission denied|must be owner"):
            administer(as_role(owned[0], "reader"), statement)


def test_chain_whose_shard_takes_rights_back_is_missing_until_they_are_given_again(refusals, owned, settings):
    shard = settings.shards["b"].url
    administer(shard, "REVOKE SELECT ON ALL TABLES IN SCHEMA served FROM keeper")
    code, _, err = searched(owned)
    assert (code, "the database of chain 31338 is not responding" in err) == (11, True)
    assert searched(owned, "--chain-id", CHAIN_ID)[:2] == (0, {CHAIN_ID})
    administer(shard, "GRANT SELECT ON ALL TABLES IN SCHEMA served TO keeper")
    assert searched(owned)[0] == 0
