"""Errors of a deployment, in one line each."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from ape.exceptions import ApeException
from pydantic import ValidationError
from requests import RequestException
from web3.exceptions import CannotHandleRequest, Web3Exception

if TYPE_CHECKING:
    from collections.abc import Iterator


class DeploymentError(click.ClickException):
    """A deployment cannot go on. Ape prints the message and exits with 1."""


@contextmanager
def explained(situation: str) -> Iterator[None]:
    """Turn the failures of the node, of Ape and of the network into one line.

    Args:
        situation: The failed step, as the beginning of the line.

    Yields:
        Nothing.

    Raises:
        DeploymentError: In place of any of those failures.
    """
    try:
        yield
    except (RequestException, OSError, Web3Exception, ApeException) as failure:
        raise DeploymentError(f"{situation}: {one_line(failure)}") from failure


def one_line(failure: Exception) -> str:
    """Describe a failure in one line.

    Args:
        failure: The failure.

    Returns:
        Its name, and the first line of its message where there is one.
    """
    if isinstance(failure, CannotHandleRequest | RequestException):
        return "no answer"
    lines = str(failure).strip().splitlines()
    return f"{type(failure).__name__}: {lines[0][:300]}" if lines else type(failure).__name__


def first_mistake(failure: ValidationError) -> str:
    """Describe pydantic's first error in one line.

    Args:
        failure: The error of pydantic.

    Returns:
        The place of the error, if it has one, and its message.
    """
    mistake = failure.errors()[0]
    place = ".".join(map(str, mistake["loc"]))
    return f"{place}: {mistake['msg']}" if place else str(mistake["msg"])
