"""docs/solana.md says what is trusted and what is not checked, and its facts are those of the code."""

from __future__ import annotations

import re
from hashlib import sha256

from bilateral.core.contracts.records import foreign_book
from bilateral.core.errors.solana import SolanaError
from bilateral.solana.addresses import MAINNET, registry_address
from bilateral.solana.sati import MISMATCH
from scripts._build import ROOT

PAGE = (ROOT / "docs" / "solana.md").read_text()


def section(title):
    """Return the text of a section, on one line."""
    return " ".join(PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0].split())


def test_s22_page_says_what_is_trusted_in_each_registry():
    sati, second = section("Trust"), section("The second registry")
    for trusted in ("the holder's word for the wallet", "SATI's upgrade authority", "| the node |"):
        assert trusted in sati
    for trusted in ("the wallet is proven", "the registry's upgrade authority", "sync_owner", "the collection's"):
        assert trusted in second
    assert {"SATI", "8004-solana"} == set(foreign_book()[MAINNET].registries)


def test_s44_page_names_what_a_person_with_a_node_compares():
    unchecked = section("Not checked here")
    assert registry_address() in unchecked
    assert sha256(b"account:RegistryConfig").digest()[:8].hex() in unchecked
    for program in ("SATI's program", "8004-solana", "Metaplex Core", "Light", "SAS", "Photon"):
        assert program in unchecked


def test_page_explains_the_codes_that_only_solana_has():
    codes = set(re.findall(r"^\| `(\w+)` \| ", section("Checks").replace(" | | ", " |\n| "), re.MULTILINE))
    assert codes == {MISMATCH, "malformed_wallet", "not_provable_for_the_past"}
    assert all(code in (SolanaError.__doc__ or "") for code in codes)
