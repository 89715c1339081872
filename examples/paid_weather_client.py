"""A client that checks a weather agent, pays it, verifies the signed answer and gives feedback.

    pip install '.[x402]'
    export BILATERAL_RPC_URL=… BILATERAL_PRIVATE_KEY=…
    python paid_weather_client.py 'https://agent.example/weather?city=Oslo'

`BILATERAL_DEPLOYMENT` names a deployment record. The client pays in known dollars, and in `TOKEN` if you name one.
"""

import os
import sys
from pathlib import Path

from eth_account import Account
from x402 import x402ClientSync
from x402.mechanisms.evm.exact import register_exact_evm_client
from x402.mechanisms.evm.signers import EthAccountSigner

from bilateral import Client, Deployment
from bilateral.core.identifiers import FeedbackId
from bilateral.x402 import Verifier, give_paid_feedback, protect_client
from bilateral.x402.clients.requests import verification_of, verifying_session


def buy(url: str) -> tuple[str, FeedbackId]:
    """Buy an answer. Return it with the id of the feedback."""
    account, rpc_url = Account.from_key(os.environ["BILATERAL_PRIVATE_KEY"]), os.environ["BILATERAL_RPC_URL"]
    record, token = os.environ.get("BILATERAL_DEPLOYMENT"), os.environ.get("TOKEN")
    deployment = Deployment.from_record(Path(record).read_bytes()) if record else None
    with Client(rpc_url, signer=account, deployment=deployment) as registries:
        known = registries.get_deployment()
        with Verifier({rpc_url: known}) as verifier:
            payer = register_exact_evm_client(x402ClientSync(), EthAccountSigner(account))
            if token:
                payer.set_spend_controls({"allowed_assets": [{"network": f"eip155:{known.chain_id}", "asset": token}]})
            response = verifying_session(protect_client(payer, verifier), verifier).get(url)
        verification = verification_of(response)
        if verification is None or not verification.is_verified:
            raise SystemExit("\n".join(verification.problems if verification else ["nothing was paid"]))
        return response.text, give_paid_feedback(registries, verification, 95, account).wait().id


if __name__ == "__main__":
    answer, feedback = buy(sys.argv[1])
    print(f"{answer}\nfeedback {feedback}")
