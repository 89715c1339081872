"""What a scripted seller does with a payment, by the situations of `tests/vectors/outcomes.json`."""

from __future__ import annotations

from tests.permit2 import FACILITATOR

PRICE, CEILING, PART = 1000, 5000, 1234
TERMS = {
    "eip3009": ("exact", PRICE, {"assetTransferMethod": None}),
    "permit2-exact": ("exact", PRICE, {}),
    "permit2-upto": ("upto", CEILING, {"facilitatorAddress": FACILITATOR.address}),
    "channel": ("batch-settlement", PRICE, {}),
    "auth-capture": ("auth-capture", PRICE, {}),
    "unknown": ("exact", PRICE, {"assetTransferMethod": "erc7710"}),
}


def scripts(payment_chain, scripted, payer):
    """Return the scripts of a `ScriptedSeller`, by situation.

    Args:
        payment_chain: The chain.
        scripted: The seller.
        payer: The account that pays.
    """
    sold, chain = scripted, payment_chain

    def settle(payload, moved=None, **changes):
        reported = {"amount": str(moved or CEILING)} if sold.terms["scheme"] == "upto" else {}
        return 200, sold.report(sold.settle(payload, moved), **reported | changes)

    def settle_through_a_contract(payload):
        return 200, sold.report(chain.multicall(sold.call(payload))["transactionHash"])

    def transfer_plainly(_):
        moved = chain.code("MockPaymentToken", "transfer", sold.wallet, int(sold.terms["amount"]))
        return 200, sold.report(chain.send(chain.token, moved, payer)["transactionHash"])

    def settle_twice(payload):
        sold.settle(payload)
        return 200, sold.report(sold.settle(payload))

    def take_all(payload):
        sold.settle(payload)
        return 200, sold.report("", amount="0")

    def settle_and_refuse(payload):
        sold.settle(payload)
        return 402, None

    def refuse_canceled(payload):
        chain.cancel(payer, payload["permit2Authorization"]["nonce"])
        return 402, None

    return {
        "settles the price": settle,
        "settles a part": lambda payload: settle(payload, PART),
        "settles a part and names no amount": lambda payload: settle(payload, PART, amount=None),
        "settles through another contract": settle_through_a_contract,
        "settles through another contract, and the node has no traces": settle_through_a_contract,
        "reports another amount": lambda payload: settle(payload, amount="1"),
        "takes nothing": lambda _: (200, sold.report("", amount="0")),
        "reports nothing and takes the ceiling": take_all,
        "names an earlier payment": lambda _: (200, sold.report(sold.earlier)),
        "names a plain transfer": transfer_plainly,
        "settles in a token with a fee": settle,
        "names a transaction that failed": settle_twice,
        "settles and refuses": settle_and_refuse,
        "refuses": lambda _: (402, None),
        "fails": lambda _: (500, None),
        "refuses a canceled payment": refuse_canceled,
        "reports nothing with a redirect": lambda _: (302, sold.report("", amount="0"), {"Location": "/next"}),
        "asks for it": None,
    }
