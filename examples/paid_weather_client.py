"""A client that checks a weather agent, pays it, verifies the signed answer and gives feedback.

CLIENT_KEY=… RPC_URL=… python -m examples.paid_weather_client https://agent.example/weather?city=Oslo
"""

import os
import sys
from typing import Any

from eth_account import Account
from x402 import x402ClientSync
from x402.mechanisms.evm.exact import register_exact_evm_client
from x402.mechanisms.evm.signers import EthAccountSigner

from bilateral.client import Client
from bilateral.contracts import Deployment
from bilateral.identifiers import FeedbackId
from bilateral.x402 import Verifier, give_paid_feedback, protect_client
from bilateral.x402.requests import verification_of, verifying_session


def buy(url: str, deployment: Deployment | None = None, spend_controls: Any = None) -> tuple[str, FeedbackId]:
    """Buy an answer. Return it with the id of the feedback."""
    account, rpc_url = Account.from_key(os.environ["CLIENT_KEY"]), os.environ["RPC_URL"]
    with Client(rpc_url, signer=account, deployment=deployment) as registries:
        with Verifier({rpc_url: registries.get_deployment()}) as verifier:
            payer = register_exact_evm_client(x402ClientSync(), EthAccountSigner(account))
            if spend_controls is not None:
                payer.set_spend_controls(spend_controls)
            response = verifying_session(protect_client(payer, verifier), verifier).get(url)
        verification = verification_of(response)
        if verification is None or not verification.is_verified:
            raise SystemExit("\n".join(verification.problems if verification else ["nothing was paid"]))
        return response.text, give_paid_feedback(registries, verification, 95, account).wait().id


if __name__ == "__main__":
    answer, feedback = buy(sys.argv[1])
    print(f"{answer}\nfeedback {feedback}")
