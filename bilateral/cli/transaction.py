"""`bilateral transaction …`: speed up and cancel pending transactions."""

from typing import Annotated

from bilateral.cli.invocation import Invocation
from bilateral.cli.options import argument, command, make_group

app = make_group("transaction")

Hash = Annotated[str, argument("HASH", "The pending transaction's hash.")]


@command(app, writes=True)
def speed_up(invocation: Invocation, transaction_hash: Hash) -> None:
    """Resend one of the signer's pending transactions with higher fees."""
    invocation.write("Transaction done", lambda client: client.find_transaction(transaction_hash).speed_up())


@command(app, writes=True)
def cancel(invocation: Invocation, transaction_hash: Hash) -> None:
    """Replace one of the signer's pending transactions with an empty one at higher fees."""
    invocation.write("Transaction cancelled", lambda client: client.find_transaction(transaction_hash).cancel())
