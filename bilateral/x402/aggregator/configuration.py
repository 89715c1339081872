"""Settings of an aggregator from a TOML file. Keys come from the environment or from keystores, never from the file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from eth_account import Account
from eth_account.signers.local import LocalAccount
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bilateral.core.contracts import Deployment
from bilateral.core.errors import InvalidArgumentError
from bilateral.x402.aggregator.settings import AggregatorSettings, SponsoredChain
from bilateral.x402.proof.errors import InvalidKeyError
from bilateral.x402.proof.keys import key_from_environment, key_from_keystore

_Wei = Annotated[int | str, Field(description="Wei: a number, or digits in a text")]


class _ChainTable(BaseModel):
    """A `[[chain]]` of the file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    rpc_url: str
    deployment: str
    key_variable: str | None = None
    keystore: str | None = None
    passphrase_variable: str | None = None
    tokens: dict[str, int]
    budget: _Wei
    max_cost: _Wei | None = None
    confirmations: Annotated[int, Field(ge=1, le=10_000)] = SponsoredChain.confirmations
    requires_bound_proof: bool = SponsoredChain.requires_bound_proof
    requires_checked_file: bool = SponsoredChain.requires_checked_file
    poll_seconds: Annotated[float, Field(gt=0, le=60)] = SponsoredChain.poll_seconds
    replace_seconds: Annotated[float, Field(ge=1, le=86_400)] = SponsoredChain.replace_seconds
    private_mempool: bool | None = SponsoredChain.private_mempool

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if (self.key_variable is None) == (self.keystore is None):
            raise ValueError("give key_variable, or keystore and passphrase_variable")
        if (self.keystore is None) != (self.passphrase_variable is None):
            raise ValueError("a keystore needs passphrase_variable, the name of the variable with its passphrase")
        return self


class _File(BaseModel):
    """The whole file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    chain: Annotated[list[_ChainTable], Field(min_length=1)]
    answer_seconds: Annotated[float, Field(gt=0, le=60)] = AggregatorSettings.answer_seconds
    lease_seconds: Annotated[float, Field(ge=1, le=600)] = AggregatorSettings.lease_seconds
    resend_seconds: Annotated[float, Field(ge=1, le=600)] = AggregatorSettings.resend_seconds
    allow_private: bool = AggregatorSettings.allow_private


def read_aggregator_settings(path: Path) -> AggregatorSettings:
    """Read settings from a TOML file."""
    try:
        file = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise InvalidArgumentError(f"{path} cannot be read: {problem}") from None
    except ValidationError as problem:
        raise InvalidArgumentError(f"{path}: {_first_problem(problem)}") from None
    chains = tuple(_chain(table, path.parent) for table in file.chain)
    rest = {name: value for name, value in dict(file).items() if name != "chain"}
    return AggregatorSettings(chains, **rest)


def _chain(table: _ChainTable, folder: Path) -> SponsoredChain:
    """Return the settings of one chain."""
    same = table.model_dump(exclude={"deployment", "key_variable", "keystore", "passphrase_variable"})
    amounts = {name: None if same[name] is None else _wei(name, same[name]) for name in ("budget", "max_cost")}
    return SponsoredChain(**{**same, **amounts}, deployment=_deployment(table, folder), signer=_signer(table, folder))


def _deployment(table: _ChainTable, folder: Path) -> Deployment:
    """Return the deployment that a chain names."""
    path = folder / table.deployment
    try:
        return Deployment.from_record(path.read_bytes())
    except OSError as problem:
        raise InvalidArgumentError(f"the deployment record {path} cannot be read: {problem.strerror}") from None


def _signer(table: _ChainTable, folder: Path) -> LocalAccount:
    """Return the account that pays on a chain."""
    try:
        if table.key_variable is not None:
            secret = key_from_environment(table.key_variable).secret
        else:
            passphrase = os.environ.get(str(table.passphrase_variable))
            if passphrase is None:
                raise InvalidArgumentError(f"the environment variable {table.passphrase_variable} is not set")
            secret = key_from_keystore(folder / str(table.keystore), passphrase).secret
    except InvalidKeyError as problem:
        raise InvalidArgumentError(str(problem)) from None
    account: LocalAccount = Account.from_key(secret)
    return account


def _wei(name: str, value: int | str) -> int:
    """Return an amount of wei. TOML's own numbers end at 2^63."""
    if isinstance(value, str):
        if not (value.isascii() and value.isdecimal()):
            raise InvalidArgumentError(f"{name} {value!r} is not a number of wei")
        return int(value)
    return value


def _first_problem(problem: ValidationError) -> str:
    """Return the first problem of a file, with the name of the setting."""
    first = problem.errors()[0]
    place: Sequence[Any] = first["loc"]
    return f"{'.'.join(map(str, place))}: {first['msg']}"
