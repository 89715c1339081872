/** The codes of errors and checks. They are the same as in Python, which a test in the repository verifies. */

/** The kinds of invalid fields. `wrong_case` is a mixed-case address whose checksum (EIP-55) is wrong. */
export type FieldFault =
  | "missing"
  | "wrong_type"
  | "too_long"
  | "too_many"
  | "malformed"
  | "wrong_chain"
  | "wrong_case"
  | "unsupported_version";

/** The reasons for refusing a payment before anything is signed. */
export type RefusalCode =
  | "agent_not_registered"
  | "cannot_check"
  | "file_not_authentic"
  | "invalid_declaration"
  | "no_wallet_on_network"
  | "not_declared"
  | "payment_address_mismatch"
  | "payment_refused"
  | "policy_declined"
  | "registry_mismatch"
  | "unknown_registry"
  | "unsupported_network"
  | `${string}_not_supported`;

/** The states of a payment whose answer is lost. */
export type LostAnswerOutcome = "settled" | "pending" | "unknown" | "refused" | "expired";

/** The reasons why a check of a proof did not pass. Faults in fields are listed in `FieldFault`. */
export type CheckCode =
  | FieldFault
  | PaymentCode
  | "agent_mismatch"
  | "agent_not_registered"
  | "body_not_kept"
  | "cannot_check"
  | "earlier_check_failed"
  | "file_not_authentic"
  | "file_not_loaded"
  | "hash_mismatch"
  | "key_mismatch"
  | "malformed_file"
  | "network_mismatch"
  | "no_valid_signers"
  | "not_made"
  | "not_provable"
  | "not_provable_for_the_past"
  | "nothing_paid"
  | "payment_address_mismatch"
  | "payment_mismatch"
  | "payment_not_found"
  | "payment_unconfirmed"
  | "paid_less"
  | "settlement_failed"
  | "signature_failed"
  | "task_ref_mismatch"
  | "unknown_registry"
  | "unsupported_body"
  | "unsupported_network";

/** The faults in a payment itself, which no transaction can settle as agreed. */
export type PaymentCode =
  | "ambiguous_payment"
  | "amount_mismatch"
  | "asset_mismatch"
  | "invalid_amount"
  | "invalid_nonce"
  | "invalid_payment"
  | "missing_facilitator"
  | "missing_permitted"
  | "missing_spender"
  | "missing_witness"
  | "payee_mismatch"
  | "unexpected_facilitator"
  | "unknown_spender"
  | "unsupported_payment";
