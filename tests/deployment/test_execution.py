"""A plan is carried out once, whatever happens on the way."""

from __future__ import annotations

import pytest
from eth_utils import keccak

from scripts._anvil import running_anvil
from scripts._build import build
from scripts._deployment.errors import DeploymentError
from scripts._deployment.execution import State
from scripts._deployment.live_chain import DEPLOYER_AUTHOR, DEPLOYER_CREATION
from scripts._deployment.parameters import ContractParameters
from scripts._deployment.plan import DEPLOYER, make_plan
from scripts._deployment.records import Records
from tests.deployment.conftest import BASE_SEPOLIA, SALTS, connected


def states(outcomes):
    return [outcome.state for outcome in outcomes]


def test_contracts_are_deployed_where_predicted(network, plan, records):
    outcomes = list(network.deploy(plan, records))
    assert states(outcomes) == [State.DEPLOYED] * 3
    for contract in plan:
        assert contract.build.runs_as(network.chain.code(contract.address))
    assert network.sent == 3


def test_record_tells_all_about_a_contract(network, plan, records):
    list(network.deploy(plan, records))
    record = records.load(BASE_SEPOLIA)
    assert (record.chain_id, record.network, record.pending) == (BASE_SEPOLIA, "base:sepolia", {})
    entry = record.contracts["MockRegistry"]
    transaction = network.provider.web3.eth.get_transaction(entry.transaction)
    assert (entry.block, entry.deployer) == (transaction["blockNumber"], network.account.address)
    assert bytes(transaction["input"]) == plan[1].calldata
    assert entry.address == plan[1].address
    assert entry.constructor_arguments == {"identityRegistry": plan[0].address}
    assert entry.code_hash == f"0x{keccak(network.chain.code(entry.address)).hex()}"
    assert entry.init_code_hash == f"0x{keccak(plan[1].init_code).hex()}"
    assert entry.salt == SALTS[0]
    assert entry.source == "contracts/mocks/MockRegistry.sol"
    assert entry.compiler == build("MockRegistry").compiler
    assert entry.settings["evmVersion"] == "cancun"
    assert entry.verified is False


def test_second_run_sends_nothing_and_leaves_the_record_as_it_is(network, plan, records):
    list(network.deploy(plan, records))
    before = records.path(BASE_SEPOLIA).read_bytes()
    outcomes = list(network.deploy(plan, records))
    assert states(outcomes) == [State.IN_PLACE] * 3
    assert network.sent == 3
    assert records.path(BASE_SEPOLIA).read_bytes() == before


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_run_that_ended_after_any_step_is_resumed(network, plan, records, steps):
    run = network.deploy(plan, records)
    for _ in range(steps):
        next(run)
    run.close()
    assert len(records.load(BASE_SEPOLIA).contracts) == steps
    assert states(network.deploy(plan, records)) == [State.IN_PLACE] * steps + [State.DEPLOYED] * (3 - steps)
    assert network.sent == 3


def test_run_that_was_cut_off_before_sending_is_resumed(network, plan, records):
    def cut_off(message):
        if "sending" in message:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(network.deploy(plan, records, tell=cut_off))
    assert list(records.load(BASE_SEPOLIA).pending) == ["IdentityRegistry"]
    assert states(network.deploy(plan, records)) == [State.DEPLOYED] * 3
    assert network.sent == 3


def test_transaction_of_an_earlier_run_is_waited_for_rather_than_sent_again(network, plan, records):
    network.request("evm_setAutomine", False)
    with pytest.raises(DeploymentError, match=r"is in no block after 0 s; run the same command again to wait on\.$"):
        list(network.deploy(plan[:1], records, timeout=0.3))
    ((_, transaction),) = records.load(BASE_SEPOLIA).pending.items()
    network.request("evm_mine")
    network.request("evm_setAutomine", True)

    told = []
    assert states(network.deploy(plan[:1], records, tell=told.append)) == [State.DEPLOYED]
    assert told == [f"IdentityRegistry: taking up the transaction {transaction} of an earlier run …"]
    assert records.load(BASE_SEPOLIA).contracts["IdentityRegistry"].transaction == transaction
    assert network.sent == 1


def test_transaction_of_an_earlier_run_with_other_parameters_is_not_forgotten(network, plan, records):
    network.request("evm_setAutomine", False)
    with pytest.raises(DeploymentError, match="is in no block after 0 s"):
        list(network.deploy(plan[:1], records, timeout=0.3))
    before = records.path(BASE_SEPOLIA).read_bytes()
    ((_, transaction),) = records.load(BASE_SEPOLIA).pending.items()
    moved = make_plan({"IdentityRegistry": ContractParameters(salt=SALTS[0])})
    for mined in (False, True):
        if mined:
            network.request("evm_mine")
            network.request("evm_setAutomine", True)
        with pytest.raises(DeploymentError) as refusal:
            list(network.deploy(moved, records))
        assert refusal.value.message == (
            f"IdentityRegistry: the transaction {transaction} of an earlier run deploys it from other sources, by "
            "another compiler or with other parameters. Finish that run with those first."
        )
        assert records.path(BASE_SEPOLIA).read_bytes() == before
    assert states(network.deploy(plan[:1], records)) == [State.DEPLOYED]
    assert network.sent == 1


def test_transaction_of_the_account_that_waits_for_a_block_is_not_replaced(network, plan, records, stranger):
    network.request("evm_setAutomine", False)
    waiting = network.provider.web3.eth.send_transaction(
        {"from": network.account.address, "to": stranger.address, "value": 1}
    )
    with pytest.raises(DeploymentError) as refusal:
        list(network.deploy(plan[:1], records))
    assert refusal.value.message == (
        f"IdentityRegistry: {network.account.address} has a transaction that waits for a block; run the same command "
        "again when it is in one."
    )
    network.request("evm_mine")
    network.request("evm_setAutomine", True)
    assert network.provider.web3.eth.get_transaction_receipt(waiting)["status"] == 1
    assert states(network.deploy(plan[:1], records)) == [State.DEPLOYED]


def test_transaction_of_an_earlier_run_that_failed_is_sent_again(network, plan, records):
    network.request("anvil_setCode", DEPLOYER, "0xfe")
    failed = network.send({"from": network.account.address, "to": DEPLOYER, "gas": 100_000})
    record = records.load(BASE_SEPOLIA, "base:sepolia")
    record.pending["IdentityRegistry"] = failed
    records.save(record)
    restore_deployer(network)
    assert states(network.deploy(plan[:1], records)) == [State.DEPLOYED]


def restore_deployer(network):
    code = "7f" + "ff" * 31 + "e03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3"
    network.request("anvil_setCode", DEPLOYER, f"0x{code}")


def test_contract_that_is_in_place_but_not_on_record_is_recorded_with_its_creation(network, plan, records, tmp_path):
    list(network.deploy(plan, records))
    other = Records(tmp_path / "other")
    assert states(network.deploy(plan, other)) == [State.FOUND] * 3
    assert network.sent == 3
    assert other.load(BASE_SEPOLIA) == records.load(BASE_SEPOLIA)


def test_contract_whose_creation_the_node_has_forgotten_is_recorded_without_it(network, plan, records, tmp_path):
    list(network.deploy(plan[:1], records))
    network.request("anvil_mine", "0x200")  # anvil, as it is started here, keeps the states of 256 blocks
    (outcome,) = network.deploy(plan[:1], Records(tmp_path / "other"))
    assert outcome.state is State.FOUND
    assert (outcome.record.transaction, outcome.record.block, outcome.record.deployer) == (None, None, None)


def test_contract_that_was_not_created_by_a_plain_transaction_is_recorded_without_it(network, plan, records):
    network.request("anvil_setCode", plan[0].address, f"0x{plan[0].build.runtime_code.hex()}")
    (outcome,) = network.deploy(plan[:1], records)
    assert outcome.state is State.FOUND
    assert (outcome.record.transaction, outcome.record.deployer) == (None, None)


def test_other_code_at_the_address_is_an_error(network, plan, records):
    network.request("anvil_setCode", plan[1].address, "0x6000")
    with pytest.raises(DeploymentError) as refusal:
        list(network.deploy(plan, records))
    assert refusal.value.message == f"MockRegistry: other code is at its address {plan[1].address}."
    assert network.sent == 0


def test_contract_with_another_identity_registry_is_an_error(network, plan, records):
    code = bytearray(plan[1].build.runtime_code)
    ((start, length),) = plan[1].build.immutables
    code[start : start + length] = bytes(12) + b"\x11" * 20
    network.request("anvil_setCode", plan[1].address, f"0x{code.hex()}")
    with pytest.raises(DeploymentError) as refusal:
        list(network.deploy(plan, records))
    assert refusal.value.message == (
        f"MockRegistry: getIdentityRegistry() at {plan[1].address} returns 0x{'11' * 20}, expected {plan[0].address}. "
        "Do not use this contract."
    )
    assert list(records.load(BASE_SEPOLIA).contracts) == ["IdentityRegistry"]


def test_code_that_is_not_the_one_on_record_is_an_error(network, plan, records):
    list(network.deploy(plan, records))
    wallet = plan[2]
    code = bytearray(network.chain.code(wallet.address))
    start, length = wallet.build.immutables[0]
    code[start : start + length] = bytes(12) + b"\x11" * 20
    network.request("anvil_setCode", wallet.address, f"0x{code.hex()}")
    with pytest.raises(DeploymentError) as refusal:
        list(network.deploy(plan, records))
    assert refusal.value.message == f"MockWallet: the code at {wallet.address} is not the one on record."


def test_contract_on_record_is_not_put_aside_by_another_address(network, plan, records):
    list(network.deploy(plan, records))
    before = records.path(BASE_SEPOLIA).read_bytes()
    moved = make_plan({"IdentityRegistry": ContractParameters(salt=SALTS[0])})
    with pytest.raises(DeploymentError, match=rf"^IdentityRegistry is on record at {plan[0].address} \(commit"):
        list(network.deploy(moved, records))
    assert records.path(BASE_SEPOLIA).read_bytes() == before


def test_record_of_a_chain_that_was_started_anew_is_replaced(network, plan, records):
    snapshot = network.request("evm_snapshot")
    list(network.deploy(plan, records))
    network.restore(snapshot)
    moved = make_plan({"IdentityRegistry": ContractParameters(salt=SALTS[0])})
    list(network.deploy(moved, records))
    assert records.load(BASE_SEPOLIA).contracts["IdentityRegistry"].address == moved[0].address


def test_contracts_are_deployed_again_to_a_chain_that_was_started_anew(network, plan, records):
    snapshot = network.request("evm_snapshot")
    list(network.deploy(plan, records))
    network.restore(snapshot)
    assert states(network.deploy(plan, records)) == [State.DEPLOYED] * 3


def test_record_of_a_chain_where_somebody_else_has_deployed_anew_is_rewritten(network, plan, records, stranger):
    snapshot = network.request("evm_snapshot")
    list(network.deploy(plan[:1], records))
    network.restore(snapshot)
    pay(network, stranger)
    deploy_as(network, stranger, plan[0])
    (outcome,) = network.deploy(plan[:1], records)
    assert outcome.state is State.FOUND
    entry = records.load(BASE_SEPOLIA).contracts["IdentityRegistry"]
    transaction = network.provider.web3.eth.get_transaction(entry.transaction)
    assert (transaction["from"], transaction["blockNumber"]) == (stranger.address, entry.block)
    assert entry.deployer == stranger.address
    assert states(network.deploy(plan[:1], records)) == [State.IN_PLACE]


def test_record_is_left_as_it_is_when_the_node_has_forgotten_the_creation(network, plan, records):
    list(network.deploy(plan[:1], records))
    network.request("anvil_mine", "0x200")  # anvil, as it is started here, keeps the states of 256 blocks
    record = records.load(BASE_SEPOLIA)
    record.contracts["IdentityRegistry"].transaction = "0x" + "11" * 32
    records.save(record)
    assert states(network.deploy(plan[:1], records)) == [State.IN_PLACE]
    assert records.load(BASE_SEPOLIA) == record


def test_account_that_runs_out_of_funds_is_told_so_and_the_run_is_resumed(network, plan, records):
    run = network.deploy(plan, records)
    next(run)
    network.request("anvil_setBalance", network.account.address, hex(10**9))
    with pytest.raises(DeploymentError) as refusal:
        next(run)
    assert refusal.value.message == (
        f"MockRegistry: {network.account.address} cannot pay for it; fund the account, and run the same command again."
    )
    record = records.load(BASE_SEPOLIA)
    assert (list(record.contracts), record.pending) == (["IdentityRegistry"], {})

    network.request("anvil_setBalance", network.account.address, hex(10**18))
    assert states(network.deploy(plan, records)) == [State.IN_PLACE, State.DEPLOYED, State.DEPLOYED]


def test_chain_without_the_deployer_is_explained_and_the_explanation_works(networks, account, plan, records):
    with (
        running_anvil("--chain-id", str(BASE_SEPOLIA), "--disable-default-create2-deployer") as url,
        connected(networks, account, url) as network,
    ):
        with pytest.raises(DeploymentError) as refusal:
            list(network.deploy(plan, records))
        assert f"send 0.01 ether to {DEPLOYER_AUTHOR}" in refusal.value.message
        assert refusal.value.message.endswith(DEPLOYER_CREATION)

        network.send({"from": account.address, "to": DEPLOYER_AUTHOR, "value": 10**16})
        creation = network.request("eth_sendRawTransaction", DEPLOYER_CREATION)
        network.provider.web3.eth.wait_for_transaction_receipt(creation)
        assert states(network.deploy(plan, records)) == [State.DEPLOYED] * 3


def test_something_else_in_the_place_of_the_deployer_is_an_error(network, plan, records):
    network.request("anvil_setCode", DEPLOYER, "0x6000")
    with pytest.raises(DeploymentError, match=rf"has other code than the deterministic deployer at {DEPLOYER}\.$"):
        list(network.deploy(plan, records))


def deploy_as(network, somebody, contract):
    network.send({"from": somebody.address, "to": DEPLOYER, "data": contract.calldata, "gas": 10_000_000})


def pay(network, receiver):
    network.send({"from": network.account.address, "to": receiver.address, "value": 1})


def test_nonce_that_somebody_else_takes_meanwhile_is_replaced(network, plan, records, stranger):
    def take_the_nonce(message):
        if "sending" in message and network.sent == 0:
            pay(network, stranger)

    (outcome,) = network.deploy(plan[:1], records, tell=take_the_nonce)
    assert outcome.state is State.DEPLOYED
    assert network.provider.web3.eth.get_transaction(outcome.record.transaction)["nonce"] == 1


def test_nonce_that_is_taken_again_and_again_is_an_error(network, plan, records, stranger):
    def take_the_nonce(message):
        if "sending" in message:
            pay(network, stranger)

    with pytest.raises(DeploymentError, match=r"^IdentityRegistry: somebody else keeps taking the nonces of 0x"):
        list(network.deploy(plan[:1], records, tell=take_the_nonce))


def test_contract_that_somebody_else_deploys_meanwhile_is_found(network, plan, records, stranger):
    def be_faster(message):
        if "sending" in message:
            deploy_as(network, stranger, plan[0])

    (outcome,) = network.deploy(plan[:1], records, tell=be_faster)
    assert outcome.state is State.FOUND
    assert outcome.record.deployer == stranger.address


def test_two_runs_at_once_do_not_meet(network, plan, records):
    first = network.deploy(plan, records)
    next(first)
    with pytest.raises(DeploymentError) as refusal:
        next(network.deploy(plan, records))
    assert refusal.value.message == f"Another run is working on chain {BASE_SEPOLIA}; try again when it has ended."
    assert states(first) == [State.DEPLOYED] * 2
    assert states(network.deploy(plan, records)) == [State.IN_PLACE] * 3


def test_gas_is_estimated_to_within_a_fortieth_and_never_too_low(network, plan, records):
    for outcome in network.deploy(plan, records):
        receipt = network.provider.web3.eth.get_transaction_receipt(outcome.record.transaction)
        assert receipt["gasUsed"] <= outcome.contract.estimated_gas
    identity = network.provider.web3.eth.get_transaction_receipt(
        records.load(BASE_SEPOLIA).contracts["IdentityRegistry"].transaction
    )
    assert plan[0].estimated_gas <= identity["gasUsed"] * 41 / 40
