"""Keystore files: created, imported, listed, and read with limits."""

from __future__ import annotations

import json
import time

import pytest
from ape_accounts import KeyfileAccount
from eth_account import Account

from tests.cli.conftest import PASSPHRASE

KEY = "0x" + "07" * 32
ADDRESS = Account.from_key(KEY).address


@pytest.fixture
def folder(tmp_path):
    """The variables by which commands find an empty folder of accounts, and the passphrase of new ones."""
    return {"APE_DATA_FOLDER": str(tmp_path), "BILATERAL_PASSPHRASE": PASSPHRASE}


@pytest.fixture
def file(tmp_path):
    """Writes a keystore of the key, changed by a test; returns its path."""

    def write(change=str):
        keystore = Account.encrypt(KEY, PASSPHRASE, kdf="pbkdf2", iterations=1)
        change(keystore)
        path = tmp_path / "key.json"
        path.write_text(json.dumps(keystore))
        return path

    return write


def without_address(keystore):
    del keystore["address"]


def upper_case(keystore):
    keystore["Crypto"] = keystore.pop("crypto")


def parameters(**changes):
    def change(keystore):
        keystore["crypto"]["kdfparams"] |= changes

    return change


def scrypt(**changes):
    def change(keystore):
        keystore["crypto"]["kdf"] = "scrypt"
        keystore["crypto"]["kdfparams"] = {"dklen": 32, "n": 2, "r": 8, "p": 1, "salt": "00" * 16} | changes

    return change


def test_a_new_account_is_written_where_ape_reads_it(done, folder, tmp_path):
    made = done("account", "new", "alice", **folder)
    path = tmp_path / "accounts" / "alice.json"
    assert (made["alias"], made["keystore"], path.stat().st_mode & 0o777) == ("alice", str(path), 0o600)
    of_ape = KeyfileAccount(container=None, keyfile_path=path)
    assert of_ape.address == made["address"]
    assert Account.from_key(Account.decrypt(json.loads(path.read_text()), PASSPHRASE)).address == made["address"]
    assert [item.name for item in path.parent.iterdir()] == ["alice.json"]


def test_two_new_accounts_differ(done, folder):
    addresses = {done("account", "new", alias, **folder)["address"] for alias in ("alice", "bob")}
    assert len(addresses) == 2


@pytest.mark.parametrize("key", [KEY, KEY.removeprefix("0x"), f" {KEY}\n"])
def test_a_key_is_imported_from_the_standard_input(done, folder, key):
    assert done("account", "import", "alice", stdin=key, **folder)["address"] == ADDRESS


def test_a_key_is_imported_from_a_variable(done, folder):
    assert done("account", "import", "alice", BILATERAL_PRIVATE_KEY=KEY, **folder)["address"] == ADDRESS


@pytest.mark.parametrize("key", ["", "0x12", "zz" * 32, "0x" + "00" * 32, "0x" + "ff" * 32])
def test_an_invalid_key_is_not_imported_and_not_repeated(refused, folder, tmp_path, key):
    error = refused(7, "account", "import", "alice", stdin=key, **folder)
    assert error["reason"] == "malformed_key"
    assert not key or key not in json.dumps(error)
    assert not (tmp_path / "accounts").exists()


@pytest.mark.parametrize("verb", ["new", "import"])
def test_an_account_is_never_overwritten(done, refused, folder, tmp_path, verb):
    done("account", "new", "alice", **folder)
    before = (tmp_path / "accounts" / "alice.json").read_bytes()
    error = refused(7, "account", verb, "alice", stdin=KEY, **folder)
    assert (error["reason"], error["arguments"]) == ("account_exists", {"account": "alice"})
    assert (tmp_path / "accounts" / "alice.json").read_bytes() == before


@pytest.mark.parametrize("alias", ["../alice", ".alice", "a/b", "a b", ""])
def test_an_alias_does_not_leave_the_folder(refused, folder, tmp_path, alias):
    assert refused(7, "account", "new", alias, **folder)["reason"] == "unknown_account"
    assert not any(tmp_path.rglob("*.json"))


@pytest.mark.parametrize("passphrase", [None, ""])
def test_an_account_needs_a_passphrase(refused, folder, passphrase):
    variables = folder | {"BILATERAL_PASSPHRASE": passphrase}
    assert refused(7, "account", "new", "alice", **variables)["reason"] == "no_passphrase"


def test_accounts_are_listed_with_their_addresses(done, bilateral, folder, tmp_path):
    assert "no accounts" in bilateral("account", "list", **folder).out
    done("account", "import", "alice", stdin=KEY, **folder)
    (tmp_path / "accounts" / "broken.json").write_text("{")
    alice, broken = done("account", "list", **folder)
    assert alice == {"alias": "alice", "address": ADDRESS, "problem": None}
    assert (broken["alias"], broken["address"], "not a usable keystore" in broken["problem"]) == ("broken", None, True)
    assert ADDRESS in bilateral("account", "list", **folder).out


@pytest.mark.parametrize("change", [str, without_address, upper_case], ids=["usual", "no address", "Crypto"])
def test_a_keystore_file_signs(done, chain, identity, file, change):
    chain.provider.set_balance(ADDRESS, 10**18)
    done("agent", "register", "--keystore", file(change), BILATERAL_PASSPHRASE=PASSPHRASE)
    assert identity.balanceOf(ADDRESS) == 1


def test_a_keystore_file_comes_from_a_variable(done, chain, file):
    chain.provider.set_balance(ADDRESS, 10**18)
    variables = {"BILATERAL_KEYSTORE": str(file()), "BILATERAL_PASSPHRASE": PASSPHRASE}
    assert done("agent", "register", "--dry-run", **variables)["transaction"]["from"] == ADDRESS


def test_an_alias_and_a_file_are_refused_together(refused, file):
    error = refused(3, "agent", "register", "--keystore", file(), "--account", "alice")
    assert error["message"] == "sign with either --account or --keystore, not both"


MALFORMED = {
    "a derived key of 2^40 bytes": parameters(dklen=2**40),
    "a derived key of 31 bytes": parameters(dklen=31),
    "a derived key of 65 bytes": parameters(dklen=65),
    "no iterations": parameters(c=0),
    "too many iterations": parameters(c=10_000_001),
    "another hash": parameters(prf="hmac-md5"),
    "no hash": parameters(prf=None),
    "iterations as text": parameters(c="1"),
    "a salt that is no text": parameters(salt=7),
    "too much memory": scrypt(n=2**21),
    "too much work": scrypt(n=2**18, p=17),
    "an n that is no power of two": scrypt(n=3),
    "an n of 1": scrypt(n=1),
    "another version": lambda keystore: keystore.update(version=4),
    "no version": lambda keystore: keystore.pop("version"),
    "no crypto": lambda keystore: keystore.pop("crypto"),
    "another cipher": lambda keystore: keystore["crypto"].update(cipher="rot13"),
    "a short ciphertext": lambda keystore: keystore["crypto"].update(ciphertext="00"),
    "a short mac": lambda keystore: keystore["crypto"].update(mac="00"),
    "another kdf": lambda keystore: keystore["crypto"].update(kdf="md5"),
    "a long iv": lambda keystore: keystore["crypto"]["cipherparams"].update(iv="00" * 17),
    "a short address": lambda keystore: keystore.update(address="0x12"),
    "the address of another key": lambda keystore: keystore.update(address="07" * 20),
}


@pytest.mark.parametrize("change", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_keystore_has_its_own_error_and_costs_no_time(refused, chain, file, change):
    chain.provider.set_balance("0x" + "07" * 20, 10**18)
    begin = time.thread_time()  # other programs do not count
    options = ["--keystore", file(change)]
    error = refused(7, "agent", "register", *options, BILATERAL_PASSPHRASE=PASSPHRASE)
    assert error["reason"] == "malformed_keystore"
    assert time.thread_time() - begin < 5


@pytest.mark.parametrize(
    "change", [parameters(dklen=32), parameters(dklen=64), scrypt(), scrypt(dklen=64)], ids=["32", "64", "s32", "s64"]
)
def test_a_wrong_passphrase_is_told_apart(refused, chain, file, change):
    chain.provider.set_balance(ADDRESS, 10**18)
    variables = {"BILATERAL_KEYSTORE": str(file(change)), "BILATERAL_PASSPHRASE": PASSPHRASE[::-1]}
    error = refused(7, "agent", "register", **variables)
    assert error["reason"] == "wrong_passphrase"
