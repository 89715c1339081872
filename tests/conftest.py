"""Fixtures that every test folder shares: the chain's users by role, and the registries."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def deployer(accounts):
    return accounts[0]


@pytest.fixture(scope="session")
def identity(deployer, project):
    return deployer.deploy(project.IdentityRegistry)
