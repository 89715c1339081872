-- SQLite
CREATE INDEX agent_account_by_agent ON agent_account (chain_id, identity_registry, agent_id);
CREATE INDEX agent_account_by_wallet ON agent_account (chain_id, wallet);
CREATE INDEX agent_activity_by_id ON agent_activity (chain_id, identity_registry, id_text);
CREATE INDEX agent_activity_by_last_activity ON agent_activity (chain_id, identity_registry, last_activity, id_text);
CREATE INDEX agent_activity_by_registered_at ON agent_activity (chain_id, identity_registry, registered_at, id_text);
CREATE INDEX agent_activity_by_updated_at ON agent_activity (chain_id, identity_registry, updated_at, id_text);
CREATE INDEX agent_by_change ON agent (chain_id, updated_at);
CREATE UNIQUE INDEX agent_by_key ON agent (chain_id, identity_registry, agent_id);
CREATE INDEX agent_by_owner ON agent (chain_id, owner);
CREATE INDEX agent_by_registration ON agent (chain_id, registered_at);
CREATE INDEX agent_by_wallet ON agent (chain_id, wallet);
CREATE INDEX agent_file_by_file ON agent_file (file_id);
CREATE INDEX agent_registered_by_address ON agent_registered (chain_id, registry, agent_address);
CREATE INDEX agent_registered_by_agent ON agent_registered (chain_id, registry, agent_id);
CREATE INDEX agent_review_by_buyer ON agent_review (chain_id, buyer);
CREATE UNIQUE INDEX agent_review_by_payment ON agent_review (chain_id, transaction_hash, payment_position);
CREATE INDEX agent_updated_by_address ON agent_updated (chain_id, registry, agent_address);
CREATE INDEX agent_updated_by_agent ON agent_updated (chain_id, registry, agent_id);
CREATE INDEX anchored_by_subject ON anchored (chain_id, registry, epoch);
CREATE INDEX approval_by_subject ON approval (chain_id, registry, agent_id);
CREATE INDEX approval_for_all_by_owner ON approval_for_all (chain_id, registry, owner);
CREATE INDEX blind_pair_by_state ON blind_pair (chain_id, account, state, next_at);
CREATE INDEX buyer_dispute_by_buyer ON buyer_dispute (chain_id, buyer);
CREATE UNIQUE INDEX buyer_dispute_by_payment ON buyer_dispute (chain_id, transaction_hash, payment_position);
CREATE INDEX buyer_feedback_by_buyer ON buyer_feedback (chain_id, buyer);
CREATE UNIQUE INDEX buyer_feedback_by_payment ON buyer_feedback (chain_id, transaction_hash, payment_position, is_counted);
CREATE INDEX change_step_by_block ON change_step (chain_id, kept_block);
CREATE INDEX channel_by_id ON channel (chain_id, channel_id);
CREATE INDEX channel_fund_by_channel ON channel_fund (chain_id, channel_id, funder, block_number, log_index);
CREATE INDEX client_rated_by_server ON client_rated (chain_id, registry, server_id, client_id);
CREATE INDEX client_rated_by_subject ON client_rated (chain_id, registry, client_id, server_id);
CREATE INDEX endpoint_change_by_id ON endpoint_change (chain_id, endpoint_id, change_id);
CREATE INDEX feedback_attested_by_subject ON feedback_attested (chain_id, registry, buyer);
CREATE INDEX feedback_revoked_by_subject ON feedback_revoked (chain_id, registry, agent_id, client_address, feedback_index);
CREATE INDEX file_by_host ON file (host, next_at);
CREATE INDEX file_by_state ON file (state);
CREATE INDEX file_from_host ON file (content_hash) WHERE kind IN ('domain', 'registration') AND substr(uri, 1, 8) = 'https://' AND content_hash IS NOT NULL;
CREATE INDEX file_host_by_time ON file_host (next_at);
CREATE INDEX file_reference_by_agent ON file_reference (chain_id, registry, agent_id, block_number, log_index) WHERE kind = 'registration';
CREATE INDEX file_reference_by_file ON file_reference (file_id);
CREATE INDEX file_reference_of_domain ON file_reference (chain_id, registry, agent_id, block_number, log_index) WHERE kind = 'domain';
CREATE INDEX file_sight_by_file ON file_sight (file_id, chain_id, seen_block);
CREATE INDEX file_state_by_content ON file (content_hash, file_id, state);
CREATE INDEX file_state_by_id ON file (file_id, content_hash, state);
CREATE INDEX finding_member_by_account ON finding_member (chain_id, account);
CREATE INDEX finding_row_by_block ON finding_row (chain_id, block_number);
CREATE INDEX funding_by_source ON funding (chain_id, source);
CREATE INDEX late_payment_by_sight ON late_payment (chain_id, seen_block, first_block);
CREATE INDEX metadata_set_by_subject ON metadata_set (chain_id, registry, agent_id);
CREATE INDEX metadata_set_by_wallet ON metadata_set (chain_id, registry, metadata_value) WHERE metadata_key = 'agentWallet' AND length(metadata_value) = 20;
CREATE INDEX new_authorized_feedback_by_client ON new_authorized_feedback (chain_id, client_address, block_number, log_index);
CREATE INDEX new_authorized_feedback_by_subject ON new_authorized_feedback (chain_id, registry, agent_id, client_address);
CREATE INDEX new_feedback_by_agent ON new_feedback (chain_id, registry, agent_id, block_number, log_index);
CREATE INDEX new_feedback_by_client ON new_feedback (chain_id, client_address, block_number, log_index);
CREATE INDEX new_feedback_by_subject ON new_feedback (chain_id, registry, agent_id, client_address, feedback_index);
CREATE INDEX payment_attested_by_subject ON payment_attested (chain_id, registry, payment);
CREATE INDEX payment_by_payee ON payment (chain_id, payee, block_number, log_index);
CREATE INDEX payment_by_payer ON payment (chain_id, payer, block_number, log_index);
CREATE INDEX payment_by_seller ON payment (chain_id, payer, identity_registry, agent_id, block_number, kinship, micros, block_time);
CREATE INDEX payment_by_transaction ON payment (transaction_hash);
CREATE INDEX payment_claim_by_agent ON payment_claim (chain_id, tag, registry, agent_id);
CREATE INDEX payment_claim_by_file ON payment_claim (file_id);
CREATE INDEX payment_return_by_receiver ON payment_return (chain_id, receiver, payee);
CREATE INDEX payment_settled_by_subject ON payment_settled (chain_id, registry, buyer);
CREATE INDEX ratings_opened_by_subject ON ratings_opened (chain_id, registry, client_id, server_id);
CREATE INDEX ratings_sealed_by_server ON ratings_sealed (chain_id, registry, server_id, client_id);
CREATE INDEX ratings_sealed_by_subject ON ratings_sealed (chain_id, registry, client_id, server_id);
CREATE INDEX registered_by_agent ON registered (chain_id, registry, agent_id);
CREATE INDEX registration_alive_by_time ON registration_alive (alive_at);
CREATE INDEX registration_alive_by_up ON registration_alive (up_at);
CREATE INDEX registration_capability_by_value ON registration_capability (kind, value);
CREATE INDEX registration_claim_by_agent ON registration_claim (agent_registry, agent_id);
CREATE INDEX registration_domain_by_file ON registration_domain (file_id);
CREATE INDEX registration_endpoint_by_id ON registration_endpoint (endpoint_id);
CREATE INDEX registration_service_by_name ON registration_service (name);
CREATE INDEX removed_change_by_step ON removed_change (step, block_number, log_index);
CREATE INDEX response_appended_by_responder ON response_appended (chain_id, registry, agent_id, client_address, feedback_index, responder, block_number, log_index);
CREATE INDEX response_appended_by_subject ON response_appended (chain_id, registry, agent_id, client_address, feedback_index, block_number, log_index);
CREATE INDEX reviews_attested_by_subject ON reviews_attested (chain_id, registry, buyer);
CREATE INDEX solana_proof_by_agent ON solana_proof (chain_id, identity_registry, agent_id, solana_agent, sight_id);
CREATE INDEX sponsored_feedback_by_agent ON sponsored_feedback (chain_id, agent_id, client);
CREATE INDEX sponsored_feedback_by_client ON sponsored_feedback (client);
CREATE INDEX sponsored_feedback_by_interaction ON sponsored_feedback (interaction_hash);
CREATE UNIQUE INDEX sponsored_feedback_by_payment ON sponsored_feedback (chain_id, payment_transaction, payment_log_index, client) WHERE state != 'failed';
CREATE INDEX sponsored_feedback_by_state ON sponsored_feedback (chain_id, account, state);
CREATE INDEX sponsored_feedback_by_transaction ON sponsored_feedback (payment_transaction);
CREATE INDEX sponsored_transaction_by_feedback ON sponsored_transaction (feedback_id);
CREATE INDEX standing_by_rank ON standing (chain_id, side, rank DESC, identity_registry, agent_id);
CREATE INDEX summary_by_lower_bound ON summary (chain_id, side, tag, lower_bound, registry, agent_id, count, counterparts, mean);
CREATE INDEX transfer_by_agent ON transfer (chain_id, registry, agent_id);
CREATE INDEX transfer_by_receiver ON transfer (chain_id, registry, to_address);
CREATE INDEX trust_score_by_lower_bound ON trust_score (chain_id, side, lower_bound);
CREATE INDEX uri_updated_by_agent ON uri_updated (chain_id, registry, agent_id);
CREATE INDEX validation_request_by_agent ON validation_request (chain_id, registry, agent_id);
CREATE INDEX validation_request_by_subject ON validation_request (chain_id, registry, request_hash);
CREATE INDEX validation_request_by_validator ON validation_request (chain_id, validator_address);
CREATE INDEX validation_response_by_agent ON validation_response (chain_id, registry, agent_id);
CREATE INDEX validation_response_by_subject ON validation_response (chain_id, registry, request_hash);
CREATE INDEX validator_rated_by_server ON validator_rated (chain_id, registry, server_id, validator_id);
CREATE INDEX validator_rated_by_subject ON validator_rated (chain_id, registry, validator_id, server_id);
CREATE INDEX webhook_by_owner ON webhook (owner);
CREATE TABLE abandoned_file ( file_id BLOB NOT NULL,
  abandoned_at BIGINT NOT NULL,
  PRIMARY KEY (file_id) );
CREATE TABLE agent ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  owner VARCHAR(42) NOT NULL,
  wallet VARCHAR(42),
  uri TEXT NOT NULL,
  domain TEXT NOT NULL,
  registered_block BIGINT NOT NULL,
  registered_at BIGINT NOT NULL,
  updated_block BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, agent_id) ) WITHOUT ROWID;
CREATE TABLE agent_account ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  owner VARCHAR(42),
  wallet VARCHAR(42),
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE agent_activity ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  id_text VARCHAR(78) NOT NULL,
  registered_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  last_activity BIGINT NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, agent_id) ) WITHOUT ROWID;
CREATE TABLE agent_count_raised ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  agent_count INTEGER NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE agent_enrichment ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  service_name VARCHAR(200) NOT NULL,
  content TEXT NOT NULL,
  issued_at BIGINT NOT NULL,
  content_hash BLOB NOT NULL,
  signer VARCHAR(42),
  signature BLOB,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, agent_id, service_name) );
CREATE TABLE agent_file ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  file_id BLOB NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, agent_id) ) WITHOUT ROWID;
CREATE TABLE agent_metadata ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  metadata_key TEXT NOT NULL,
  metadata_value BLOB NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, agent_id, metadata_key) ) WITHOUT ROWID;
CREATE TABLE agent_registered ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  agent_domain TEXT NOT NULL,
  agent_address VARCHAR(42) NOT NULL,
  raw_data BLOB,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE agent_review ( id VARCHAR(64) NOT NULL,
  chain_id BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  payment_position INTEGER NOT NULL,
  buyer VARCHAR(42) NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  score INTEGER NOT NULL,
  tag1 TEXT NOT NULL,
  tag2 TEXT NOT NULL,
  note TEXT NOT NULL,
  content_hash BLOB NOT NULL,
  signer VARCHAR(42),
  signature BLOB,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (id) );
CREATE TABLE agent_updated ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  agent_domain TEXT NOT NULL,
  agent_address VARCHAR(42) NOT NULL,
  raw_data BLOB,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE VIRTUAL TABLE agent_words USING fts5(name_words, words, content='registration_words', content_rowid='document_id', tokenize='ascii', detail='column', columnsize=0, prefix='2 3');
CREATE TABLE 'agent_words_config'(k PRIMARY KEY, v) WITHOUT ROWID;
CREATE TABLE 'agent_words_data'(id INTEGER PRIMARY KEY,
  block BLOB);
CREATE TABLE 'agent_words_idx'(segid, term, pgno,
  PRIMARY KEY(segid, term)) WITHOUT ROWID;
CREATE TABLE alembic_version ( version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num) );
CREATE TABLE analysis ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  block_number BIGINT NOT NULL,
  block_hash BLOB NOT NULL,
  is_exact BOOLEAN NOT NULL,
  made_at BIGINT NOT NULL,
  agents BIGINT NOT NULL,
  opinions BIGINT NOT NULL,
  left_out BIGINT NOT NULL,
  accounts_without_funding BIGINT NOT NULL,
  trusted_accounts INTEGER NOT NULL,
  reviewed_cases INTEGER NOT NULL,
  threshold FLOAT NOT NULL,
  run BIGINT,
  seen_block BIGINT,
  first_run BIGINT,
  first_seen_block BIGINT,
  PRIMARY KEY (chain_id, identity_registry) );
CREATE TABLE anchored ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  epoch INTEGER NOT NULL,
  root BLOB NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE approval ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  owner VARCHAR(42) NOT NULL,
  account VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE approval_for_all ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  owner VARCHAR(42) NOT NULL,
  operator VARCHAR(42) NOT NULL,
  is_approved BOOLEAN NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE auth_feedback ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  agent_client_id INTEGER NOT NULL,
  agent_server_id INTEGER NOT NULL,
  feedback_auth_id BLOB NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE blind_pair ( pair_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  chain_id BIGINT NOT NULL,
  account VARCHAR(42) NOT NULL,
  client_id INTEGER NOT NULL,
  client VARCHAR(42) NOT NULL,
  server_id INTEGER NOT NULL,
  server VARCHAR(42) NOT NULL,
  interaction BLOB NOT NULL,
  client_envelope TEXT,
  client_opening TEXT,
  server_envelope TEXT,
  server_opening TEXT,
  state VARCHAR(9) NOT NULL,
  attempts INTEGER NOT NULL,
  next_at FLOAT NOT NULL,
  problem TEXT,
  accepted_at BIGINT NOT NULL, UNIQUE (chain_id, client_id, client, server_id, server, interaction) );
CREATE TABLE block ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  block_hash BLOB NOT NULL,
  PRIMARY KEY (chain_id, block_number) );
CREATE TABLE buyer_anchor ( chain_id BIGINT NOT NULL,
  registry VARCHAR(42) NOT NULL,
  epoch BIGINT NOT NULL,
  root BLOB NOT NULL,
  made_at BIGINT NOT NULL,
  states BIGINT NOT NULL,
  PRIMARY KEY (chain_id, registry, epoch) );
CREATE TABLE buyer_dispute ( id VARCHAR(64) NOT NULL,
  chain_id BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  payment_position INTEGER NOT NULL,
  buyer VARCHAR(42) NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  state VARCHAR(9) NOT NULL,
  reason TEXT NOT NULL,
  content_hash BLOB NOT NULL,
  signer VARCHAR(42),
  signature BLOB,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (id) );
CREATE TABLE buyer_feedback ( id VARCHAR(64) NOT NULL,
  chain_id BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  payment_position INTEGER NOT NULL,
  buyer VARCHAR(42) NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  score INTEGER NOT NULL,
  tags TEXT NOT NULL,
  note TEXT NOT NULL,
  is_counted BOOLEAN NOT NULL,
  content_hash BLOB NOT NULL,
  signer VARCHAR(42),
  signature BLOB,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (id) );
CREATE TABLE buyer_reply ( message_id VARCHAR(64) NOT NULL,
  chain_id BIGINT NOT NULL,
  buyer VARCHAR(42) NOT NULL,
  reply TEXT NOT NULL,
  content_hash BLOB NOT NULL,
  signer VARCHAR(42),
  signature BLOB,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (message_id) );
CREATE TABLE buyer_state ( chain_id BIGINT NOT NULL,
  registry VARCHAR(42) NOT NULL,
  epoch BIGINT NOT NULL,
  buyer VARCHAR(42) NOT NULL,
  payments_chain_id BIGINT NOT NULL,
  policy VARCHAR(64) NOT NULL,
  score INTEGER NOT NULL,
  tier INTEGER NOT NULL,
  payments BIGINT NOT NULL,
  volume INTEGER NOT NULL,
  first_payment_at BIGINT NOT NULL,
  last_payment_at BIGINT NOT NULL,
  reviews BIGINT NOT NULL,
  review_sum BIGINT NOT NULL,
  feedback_sellers BIGINT NOT NULL,
  feedback_sum BIGINT NOT NULL,
  disputes BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  node BIGINT,
  PRIMARY KEY (chain_id, registry, epoch, buyer, payments_chain_id, policy) );
CREATE TABLE buyer_tree ( chain_id BIGINT NOT NULL,
  registry VARCHAR(42) NOT NULL,
  epoch BIGINT NOT NULL,
  part BIGINT NOT NULL,
  nodes BLOB NOT NULL,
  PRIMARY KEY (chain_id, registry, epoch, part) );
CREATE TABLE chain ( chain_id BIGINT NOT NULL,
  first_block BIGINT NOT NULL,
  journal_from BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  head_number BIGINT NOT NULL,
  finalized_number BIGINT,
  endpoint TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  event_rows BIGINT NOT NULL,
  reorganizations BIGINT NOT NULL,
  last_reorganization_at BIGINT,
  last_reorganization_depth BIGINT,
  problem TEXT,
  PRIMARY KEY (chain_id) );
CREATE TABLE change_note ( step BIGINT NOT NULL,
  position INTEGER NOT NULL,
  kind VARCHAR(8) NOT NULL,
  registry VARCHAR(42) NOT NULL,
  agent_id INTEGER,
  account VARCHAR(42),
  details TEXT NOT NULL,
  PRIMARY KEY (step, position) );
CREATE TABLE change_step ( step BIGINT NOT NULL,
  kind VARCHAR(8) NOT NULL,
  chain_id BIGINT NOT NULL,
  first_block BIGINT NOT NULL,
  last_block BIGINT NOT NULL,
  kept_block BIGINT,
  removal BIGINT,
  changes BIGINT NOT NULL,
  made_at BIGINT NOT NULL,
  PRIMARY KEY (step) );
CREATE TABLE channel ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  token VARCHAR(42) NOT NULL,
  channel_id BLOB NOT NULL,
  payer VARCHAR(42) NOT NULL,
  receiver VARCHAR(42) NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE channel_fund ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  channel_id BLOB NOT NULL,
  funder VARCHAR(42) NOT NULL,
  remaining INTEGER NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index, funder) );
CREATE TABLE client_rated ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  client_id INTEGER NOT NULL,
  server_id INTEGER NOT NULL,
  rating BIGINT NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE counterpart ( chain_id BIGINT NOT NULL,
  registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  side VARCHAR(9) NOT NULL,
  tag TEXT NOT NULL,
  account VARCHAR(84) NOT NULL,
  count BIGINT NOT NULL,
  share_sum BIGINT NOT NULL,
  unit_sum INTEGER NOT NULL,
  PRIMARY KEY (chain_id, registry, agent_id, side, tag, account) ) WITHOUT ROWID;
CREATE TABLE credential_holder ( day BIGINT NOT NULL,
  pseudonym BLOB NOT NULL,
  place INTEGER NOT NULL,
  mark BLOB NOT NULL,
  PRIMARY KEY (day, pseudonym, place) );
CREATE TABLE credential_secret ( day BIGINT NOT NULL,
  secret BLOB NOT NULL,
  PRIMARY KEY (day) );
CREATE TABLE endpoint_change ( change_id INTEGER NOT NULL,
  chain_id BIGINT NOT NULL,
  endpoint_id BLOB NOT NULL,
  seen_block BIGINT NOT NULL,
  at BIGINT NOT NULL,
  kind VARCHAR(12) NOT NULL,
  old TEXT,
  new TEXT,
  code VARCHAR(40),
  PRIMARY KEY (change_id), UNIQUE (chain_id, endpoint_id, kind, at) );
CREATE TABLE endpoint_day ( chain_id BIGINT NOT NULL,
  endpoint_id BLOB NOT NULL,
  day INTEGER NOT NULL,
  vantage VARCHAR(60) NOT NULL,
  scheduled INTEGER NOT NULL,
  up INTEGER NOT NULL,
  gated INTEGER NOT NULL,
  degraded INTEGER NOT NULL,
  down INTEGER NOT NULL,
  unknown INTEGER NOT NULL,
  unfit INTEGER NOT NULL,
  median_ms INTEGER,
  p95_ms INTEGER,
  PRIMARY KEY (chain_id, endpoint_id, day, vantage) );
CREATE TABLE endpoint_limit ( chain_id BIGINT NOT NULL,
  endpoint VARCHAR(300) NOT NULL,
  blocks BIGINT NOT NULL,
  ceiling BIGINT,
  learnt_at BIGINT NOT NULL,
  lost_logs_at BIGINT,
  PRIMARY KEY (chain_id, endpoint) );
CREATE TABLE endpoint_state ( chain_id BIGINT NOT NULL,
  endpoint_id BLOB NOT NULL,
  vantage VARCHAR(60) NOT NULL,
  state VARCHAR(8),
  code VARCHAR(40),
  since BIGINT,
  probed_at BIGINT,
  alive_at BIGINT,
  failures INTEGER NOT NULL,
  milliseconds INTEGER,
  PRIMARY KEY (chain_id, endpoint_id, vantage) );
CREATE TABLE feedback_attested ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  buyer VARCHAR(42) NOT NULL,
  seller VARCHAR(42) NOT NULL,
  score BIGINT NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE feedback_file ( content_hash BLOB NOT NULL,
  agent_registry TEXT,
  agent_id TEXT,
  client_address TEXT,
  created_at TEXT,
  value TEXT,
  value_decimals TEXT,
  tag1 TEXT,
  tag2 TEXT,
  endpoint TEXT,
  text TEXT,
  comment TEXT,
  mcp_tool TEXT,
  mcp_prompt TEXT,
  mcp_resource TEXT,
  a2a_skills TEXT,
  a2a_context_id TEXT,
  a2a_task_id TEXT,
  oasf_skills TEXT,
  oasf_domains TEXT,
  payment_from TEXT,
  payment_to TEXT,
  payment_chain_id TEXT,
  payment_transaction TEXT,
  task_ref TEXT,
  interaction_hash TEXT,
  agent_signature TEXT,
  client_signature TEXT,
  problems TEXT NOT NULL,
  PRIMARY KEY (content_hash),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE TABLE feedback_revoked ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  client_address VARCHAR(42) NOT NULL,
  feedback_index INTEGER NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE file ( file_id BLOB NOT NULL,
  kind VARCHAR(12) NOT NULL,
  uri TEXT NOT NULL,
  expected_hash BLOB,
  host VARCHAR(300),
  state VARCHAR(9) NOT NULL,
  content_hash BLOB,
  integrity VARCHAR(7),
  reason VARCHAR(40),
  problem TEXT,
  etag TEXT,
  last_modified TEXT,
  found_at BIGINT NOT NULL,
  checked_at BIGINT,
  changed_at BIGINT,
  attempts INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  refresh_seconds INTEGER NOT NULL,
  next_at FLOAT,
  lease BLOB,
  PRIMARY KEY (file_id) );
CREATE TABLE file_content ( content_hash BLOB NOT NULL,
  size INTEGER NOT NULL,
  content BLOB NOT NULL,
  PRIMARY KEY (content_hash) );
CREATE TABLE file_host ( host VARCHAR(300) NOT NULL,
  next_at FLOAT,
  closed_until FLOAT NOT NULL,
  failures INTEGER NOT NULL,
  PRIMARY KEY (host) );
CREATE TABLE file_reference ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  kind VARCHAR(12) NOT NULL,
  registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  file_id BLOB,
  PRIMARY KEY (chain_id, block_number, log_index),
  FOREIGN KEY(file_id) REFERENCES file (file_id) );
CREATE TABLE file_scan ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  generation BIGINT NOT NULL,
  PRIMARY KEY (chain_id) );
CREATE TABLE file_sight ( sight_id INTEGER NOT NULL,
  chain_id BIGINT NOT NULL,
  file_id BLOB NOT NULL,
  seen_block BIGINT NOT NULL,
  state VARCHAR(9) NOT NULL,
  content_hash BLOB,
  integrity VARCHAR(7),
  reason VARCHAR(40),
  PRIMARY KEY (sight_id) );
CREATE TABLE finding ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  finding_id VARCHAR(60) NOT NULL,
  detector VARCHAR(40) NOT NULL,
  q_value FLOAT NOT NULL,
  strength FLOAT NOT NULL,
  statistic TEXT NOT NULL,
  sentence TEXT NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, finding_id) );
CREATE TABLE finding_member ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  finding_id VARCHAR(60) NOT NULL,
  part VARCHAR(11) NOT NULL,
  account VARCHAR(42) NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, finding_id, part, account) );
CREATE TABLE finding_row ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  finding_id VARCHAR(60) NOT NULL,
  position INTEGER NOT NULL,
  table_name VARCHAR(40) NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER,
  transaction_hash BLOB,
  PRIMARY KEY (chain_id, identity_registry, finding_id, position) );
CREATE TABLE funding ( chain_id BIGINT NOT NULL,
  account VARCHAR(42) NOT NULL,
  state VARCHAR(8) NOT NULL,
  source VARCHAR(42),
  amount INTEGER,
  block_number BIGINT NOT NULL,
  block_time BIGINT,
  transaction_hash BLOB,
  seen_block BIGINT,
  PRIMARY KEY (chain_id, account) );
CREATE TABLE journal ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  position INTEGER NOT NULL,
  table_name VARCHAR(40) NOT NULL,
  row_key BLOB NOT NULL,
  former_row BLOB,
  PRIMARY KEY (chain_id, block_number, position) );
CREATE TABLE known_word ( word VARCHAR(40) NOT NULL,
  trigrams INTEGER NOT NULL,
  PRIMARY KEY (word) ) WITHOUT ROWID;
CREATE TABLE late_payment ( chain_id BIGINT NOT NULL,
  first_block BIGINT NOT NULL,
  seen_block BIGINT NOT NULL,
  PRIMARY KEY (chain_id, first_block) );
CREATE TABLE metadata_set ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  indexed_metadata_key BLOB NOT NULL,
  metadata_key TEXT NOT NULL,
  metadata_value BLOB NOT NULL,
  raw_data BLOB,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE metadata_update ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE new_authorized_feedback ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  client_address VARCHAR(42) NOT NULL,
  score BIGINT NOT NULL,
  tag1 BLOB NOT NULL,
  tag2 BLOB NOT NULL,
  file_uri TEXT NOT NULL,
  file_hash BLOB NOT NULL,
  raw_data BLOB,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE new_feedback ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  client_address VARCHAR(42) NOT NULL,
  feedback_index INTEGER NOT NULL,
  value INTEGER NOT NULL,
  value_decimals BIGINT NOT NULL,
  indexed_tag1 BLOB NOT NULL,
  tag1 TEXT NOT NULL,
  tag2 TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  feedback_uri TEXT NOT NULL,
  feedback_hash BLOB NOT NULL,
  raw_data BLOB,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE payment ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  token VARCHAR(42) NOT NULL,
  payer VARCHAR(42) NOT NULL,
  payee VARCHAR(42) NOT NULL,
  amount INTEGER NOT NULL,
  micros BIGINT NOT NULL,
  nonce BLOB,
  identity_registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  owner VARCHAR(42) NOT NULL,
  kinship VARCHAR(8),
  position INTEGER DEFAULT '0' NOT NULL,
  kind VARCHAR(16) DEFAULT 'eip3009' NOT NULL,
  ceiling INTEGER,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE payment_attested ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  payment INTEGER NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE payment_claim ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  tag TEXT NOT NULL,
  account VARCHAR(42) NOT NULL,
  share BIGINT NOT NULL,
  units BIGINT NOT NULL,
  payer VARCHAR(42),
  payee VARCHAR(42),
  is_bound BOOLEAN NOT NULL,
  file_id BLOB NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE payment_cursor ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  block_hash BLOB NOT NULL,
  terms TEXT NOT NULL,
  changed_at BIGINT NOT NULL,
  confirmations INTEGER DEFAULT '1' NOT NULL,
  PRIMARY KEY (chain_id) );
CREATE TABLE payment_not_counted ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  buyer VARCHAR(42) NOT NULL,
  seller_id INTEGER NOT NULL,
  amount INTEGER NOT NULL,
  nonce BLOB NOT NULL,
  reason BIGINT NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE payment_return ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  token VARCHAR(42) NOT NULL,
  payee VARCHAR(42) NOT NULL,
  receiver VARCHAR(42) NOT NULL,
  micros BIGINT NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index, payee) );
CREATE TABLE payment_settled ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  buyer VARCHAR(42) NOT NULL,
  seller_id INTEGER NOT NULL,
  amount INTEGER NOT NULL,
  nonce BLOB NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE primary_agent ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  account VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, account) ) WITHOUT ROWID;
CREATE TABLE primary_agent_set ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  account VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE ratings_opened ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  client_id INTEGER NOT NULL,
  server_id INTEGER NOT NULL,
  interaction BLOB NOT NULL,
  client VARCHAR(42) NOT NULL,
  feedback_index INTEGER NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE ratings_sealed ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  client_id INTEGER NOT NULL,
  server_id INTEGER NOT NULL,
  interaction BLOB NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE refused_feedback ( day INTEGER NOT NULL,
  code VARCHAR(40) NOT NULL,
  band INTEGER NOT NULL,
  count BIGINT NOT NULL,
  PRIMARY KEY (day, code, band) );
CREATE TABLE registered ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  agent_uri TEXT NOT NULL,
  owner VARCHAR(42) NOT NULL,
  raw_data BLOB,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE registration_alive ( content_hash BLOB NOT NULL,
  up_at BIGINT,
  alive_at BIGINT,
  probed_at BIGINT NOT NULL,
  PRIMARY KEY (content_hash),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE TABLE registration_capability ( content_hash BLOB NOT NULL,
  kind VARCHAR(14) NOT NULL,
  position INTEGER NOT NULL,
  value VARCHAR(200) NOT NULL,
  PRIMARY KEY (content_hash, kind, position),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE TABLE registration_card ( content_hash BLOB NOT NULL,
  mcp_endpoint TEXT,
  mcp_version TEXT,
  a2a_endpoint TEXT,
  a2a_version TEXT,
  web_endpoint TEXT,
  oasf_endpoint TEXT,
  oasf_version TEXT,
  email_endpoint TEXT,
  ens TEXT,
  did TEXT,
  services TEXT NOT NULL,
  supported_trusts TEXT NOT NULL,
  mcp_tools TEXT NOT NULL,
  mcp_prompts TEXT NOT NULL,
  mcp_resources TEXT NOT NULL,
  a2a_skills TEXT NOT NULL,
  oasf_skills TEXT NOT NULL,
  oasf_domains TEXT NOT NULL,
  PRIMARY KEY (content_hash),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE TABLE registration_claim ( content_hash BLOB NOT NULL,
  position INTEGER NOT NULL,
  agent_registry VARCHAR(200) NOT NULL,
  agent_id INTEGER,
  PRIMARY KEY (content_hash, position),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE TABLE registration_domain ( content_hash BLOB NOT NULL,
  position INTEGER NOT NULL,
  host VARCHAR(300) NOT NULL,
  file_id BLOB NOT NULL,
  PRIMARY KEY (content_hash, position),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE TABLE registration_endpoint ( content_hash BLOB NOT NULL,
  position INTEGER NOT NULL,
  endpoint_id BLOB NOT NULL,
  protocol VARCHAR(8) NOT NULL,
  url TEXT NOT NULL,
  host VARCHAR(300) NOT NULL,
  is_paid BOOLEAN NOT NULL,
  is_probed BOOLEAN NOT NULL,
  method VARCHAR(8),
  PRIMARY KEY (content_hash, position),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE TABLE registration_file ( content_hash BLOB NOT NULL,
  type TEXT,
  name TEXT,
  description TEXT,
  image TEXT,
  active BOOLEAN,
  x402_support BOOLEAN,
  problems TEXT NOT NULL,
  PRIMARY KEY (content_hash),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE TABLE registration_service ( content_hash BLOB NOT NULL,
  position INTEGER NOT NULL,
  name VARCHAR(100) NOT NULL,
  endpoint TEXT,
  version TEXT,
  PRIMARY KEY (content_hash, position),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE TABLE registration_vector ( vector_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  content_hash BLOB NOT NULL,
  model VARCHAR(60) NOT NULL,
  words INTEGER NOT NULL,
  vector BLOB NOT NULL, UNIQUE (content_hash),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE TABLE registration_words ( document_id INTEGER NOT NULL,
  content_hash BLOB NOT NULL,
  name_words TEXT NOT NULL,
  words TEXT NOT NULL,
  PRIMARY KEY (document_id), UNIQUE (content_hash),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE TABLE registry ( chain_id BIGINT NOT NULL,
  address VARCHAR(42) NOT NULL,
  kind VARCHAR(40) NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  first_block BIGINT NOT NULL,
  PRIMARY KEY (chain_id, address) );
CREATE TABLE removed_change ( chain_id BIGINT NOT NULL,
  removal BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  step BIGINT NOT NULL,
  table_name VARCHAR(40) NOT NULL,
  packed_row BLOB NOT NULL,
  PRIMARY KEY (chain_id, removal, block_number, log_index) );
CREATE TABLE response_appended ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  client_address VARCHAR(42) NOT NULL,
  feedback_index INTEGER NOT NULL,
  responder VARCHAR(42) NOT NULL,
  response_uri TEXT NOT NULL,
  response_hash BLOB NOT NULL,
  raw_data BLOB,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE reviews_attested ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  buyer VARCHAR(42) NOT NULL,
  reviews BIGINT NOT NULL,
  review_sum BIGINT NOT NULL,
  disputes BIGINT NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE role_taken ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  role BIGINT NOT NULL,
  former_holder VARCHAR(42) NOT NULL,
  holder VARCHAR(42) NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE signatures_voided ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  client_address VARCHAR(42) NOT NULL,
  deadline INTEGER NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE solana_proof ( sight_id BIGINT NOT NULL,
  chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  solana_agent VARCHAR(200) NOT NULL,
  names_back BOOLEAN NOT NULL,
  problem TEXT NOT NULL,
  checked_at BIGINT NOT NULL,
  PRIMARY KEY (sight_id) );
CREATE TABLE sponsor ( chain_id BIGINT NOT NULL,
  account VARCHAR(42) NOT NULL,
  lease BLOB,
  leased_until FLOAT NOT NULL,
  PRIMARY KEY (chain_id, account) );
CREATE TABLE sponsor_day ( chain_id BIGINT NOT NULL,
  account VARCHAR(42) NOT NULL,
  day INTEGER NOT NULL,
  cost INTEGER NOT NULL,
  PRIMARY KEY (chain_id, account, day) );
CREATE TABLE sponsored_feedback ( feedback_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  chain_id BIGINT NOT NULL,
  payment_transaction BLOB NOT NULL,
  payment_log_index INTEGER NOT NULL,
  payment_asset VARCHAR(42) NOT NULL,
  payment_amount INTEGER NOT NULL,
  client VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  task_ref VARCHAR(200) NOT NULL,
  interaction_hash BLOB NOT NULL,
  content_hash BLOB NOT NULL,
  proof VARCHAR(7) NOT NULL,
  file VARCHAR(9) NOT NULL,
  feedback_index INTEGER NOT NULL,
  value INTEGER NOT NULL,
  value_decimals INTEGER NOT NULL,
  tag1 TEXT NOT NULL,
  tag2 TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  feedback_uri TEXT NOT NULL,
  feedback_hash BLOB NOT NULL,
  deadline INTEGER NOT NULL,
  signature BLOB NOT NULL,
  state VARCHAR(9) NOT NULL,
  account VARCHAR(42) NOT NULL,
  nonce BIGINT,
  day INTEGER NOT NULL,
  cost INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  next_at FLOAT NOT NULL,
  problem TEXT,
  failure TEXT,
  transaction_hash BLOB,
  block_number BIGINT,
  gas_used BIGINT,
  accepted_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL, UNIQUE (chain_id, account, nonce) );
CREATE TABLE sponsored_transaction ( transaction_hash BLOB NOT NULL,
  feedback_id INTEGER NOT NULL,
  nonce BIGINT NOT NULL,
  raw BLOB NOT NULL,
  fees TEXT NOT NULL,
  is_empty BOOLEAN NOT NULL,
  signed_at FLOAT NOT NULL,
  PRIMARY KEY (transaction_hash),
  FOREIGN KEY(feedback_id) REFERENCES sponsored_feedback (feedback_id) );
CREATE TABLE sqlite_sequence(name,seq);
CREATE TABLE standing ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  side VARCHAR(6) NOT NULL,
  agent_id INTEGER NOT NULL,
  status VARCHAR(9) NOT NULL,
  rank FLOAT,
  rating FLOAT,
  lower_bound FLOAT NOT NULL,
  upper_bound FLOAT NOT NULL,
  effective_raters FLOAT NOT NULL,
  raters BIGINT NOT NULL,
  payments BIGINT NOT NULL,
  paid FLOAT NOT NULL,
  first_at BIGINT,
  last_at BIGINT,
  evidence_cost FLOAT NOT NULL,
  reasons TEXT NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, side, agent_id) );
CREATE TABLE standing_refresh ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  block_number BIGINT,
  made_at BIGINT,
  seconds FLOAT,
  problem TEXT,
  problem_at BIGINT,
  PRIMARY KEY (chain_id, identity_registry) );
CREATE TABLE successor_nominated ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  role BIGINT NOT NULL,
  holder VARCHAR(42) NOT NULL,
  nominee VARCHAR(42) NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE summary ( chain_id BIGINT NOT NULL,
  registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  side VARCHAR(9) NOT NULL,
  tag TEXT NOT NULL,
  count BIGINT NOT NULL,
  counterparts BIGINT NOT NULL,
  value_sum INTEGER NOT NULL,
  share_sum BIGINT NOT NULL,
  mean FLOAT NOT NULL,
  lower_bound FLOAT,
  PRIMARY KEY (chain_id, registry, agent_id, side, tag) ) WITHOUT ROWID;
CREATE TABLE suspicion ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  account VARCHAR(42) NOT NULL,
  suspicion FLOAT NOT NULL,
  cluster BIGINT,
  is_flagged BOOLEAN NOT NULL,
  trust FLOAT,
  parts TEXT NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, account) );
CREATE TABLE tier_list ( chain_id BIGINT NOT NULL,
  registry VARCHAR(42) NOT NULL,
  policy TEXT NOT NULL,
  epoch BIGINT NOT NULL,
  made_at BIGINT NOT NULL,
  roots BLOB NOT NULL,
  sizes TEXT NOT NULL,
  document BLOB NOT NULL,
  PRIMARY KEY (chain_id, registry, policy, epoch) );
CREATE TABLE tier_member ( policy TEXT NOT NULL,
  buyer VARCHAR(42) NOT NULL,
  from_epoch BIGINT NOT NULL,
  commitment BLOB NOT NULL,
  payments_chain_id BIGINT NOT NULL,
  signature BLOB NOT NULL,
  PRIMARY KEY (policy, buyer, from_epoch), CONSTRAINT tier_member_by_commitment UNIQUE (policy, commitment) );
CREATE TABLE tier_roots_posted ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  epoch INTEGER NOT NULL,
  policy BLOB NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE transfer ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  from_address VARCHAR(42) NOT NULL,
  to_address VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE trust_score ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) NOT NULL,
  side VARCHAR(9) NOT NULL,
  subject VARCHAR(78) NOT NULL,
  score FLOAT,
  low FLOAT,
  high FLOAT,
  lower_bound FLOAT,
  raters BIGINT NOT NULL,
  effective FLOAT NOT NULL,
  removed FLOAT NOT NULL,
  status VARCHAR(20) NOT NULL,
  abstains BOOLEAN NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, side, subject) );
CREATE TABLE undecodable_log ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  topics BLOB NOT NULL,
  data BLOB NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE uri_updated ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  new_uri TEXT NOT NULL,
  updated_by VARCHAR(42) NOT NULL,
  raw_data BLOB,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE validation_request ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  validator_address VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  request_uri TEXT NOT NULL,
  request_hash BLOB NOT NULL,
  raw_data BLOB,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE validation_response ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  validator_address VARCHAR(42) NOT NULL,
  agent_id INTEGER NOT NULL,
  request_hash BLOB NOT NULL,
  response BIGINT NOT NULL,
  response_uri TEXT NOT NULL,
  response_hash BLOB NOT NULL,
  tag TEXT NOT NULL,
  raw_data BLOB,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE validator_rated ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BLOB NOT NULL,
  registry VARCHAR(42) NOT NULL,
  validator_id INTEGER NOT NULL,
  server_id INTEGER NOT NULL,
  rating BIGINT NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE TABLE webhook ( id VARCHAR(35) NOT NULL,
  owner VARCHAR(64) NOT NULL,
  url TEXT NOT NULL,
  wanted TEXT NOT NULL,
  since VARCHAR(60) NOT NULL,
  pending VARCHAR(60),
  created_at BIGINT NOT NULL,
  next_at BIGINT NOT NULL,
  failures INTEGER NOT NULL,
  failing_since BIGINT,
  stopped_at BIGINT,
  problem TEXT,
  delivered BIGINT NOT NULL,
  failed BIGINT NOT NULL,
  PRIMARY KEY (id) );
CREATE TABLE webhook_lease ( id INTEGER NOT NULL,
  holder VARCHAR(32) NOT NULL,
  until BIGINT NOT NULL,
  PRIMARY KEY (id) );
CREATE TABLE word_trigram ( trigram VARCHAR(3) NOT NULL,
  word VARCHAR(40) NOT NULL,
  PRIMARY KEY (trigram, word) ) WITHOUT ROWID;
CREATE TRIGGER registration_words_deleted AFTER DELETE ON registration_words BEGIN INSERT INTO agent_words(agent_words, rowid, name_words, words) VALUES ('delete', old.document_id, old.name_words, old.words); END;
CREATE TRIGGER registration_words_inserted AFTER INSERT ON registration_words BEGIN INSERT INTO agent_words(rowid, name_words, words) VALUES (new.document_id, new.name_words, new.words); END;
CREATE VIEW "agent_registration" AS
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, found.uri,
found.state, found.integrity, found.reason, found.problem, found.checked_at, found.changed_at,
read.content_hash, read.type, read.name, read.description, read.image, read.active,
read.x402_support,
EXISTS (
SELECT 1 FROM registration_claim claim
WHERE claim.content_hash = read.content_hash AND claim.agent_id = agent.agent_id
AND claim.agent_registry = 'eip155:' || agent.chain_id || ':' || agent.identity_registry
) AS is_confirmed
FROM agent
JOIN file_reference named
ON named.chain_id = agent.chain_id AND named.registry = agent.identity_registry
AND named.agent_id = agent.agent_id AND named.kind = 'registration'
AND NOT EXISTS (
SELECT 1 FROM file_reference later
WHERE later.chain_id = named.chain_id AND later.registry = named.registry
AND later.agent_id = named.agent_id AND later.kind = 'registration'
AND (later.block_number, later.log_index) > (named.block_number, named.log_index))
JOIN file found ON found.file_id = named.file_id AND found.uri = agent.uri
LEFT JOIN registration_file read ON read.content_hash = found.content_hash AND found.state = 'loaded';
CREATE VIEW "companion_agent" AS
SELECT chosen.chain_id, chosen.identity_registry AS directory, agent.identity_registry, chosen.account,
chosen.agent_id
FROM primary_agent chosen
JOIN registry
ON registry.chain_id = chosen.chain_id AND registry.address = chosen.identity_registry
AND registry.kind = 'CompanionDirectory'
JOIN agent
ON agent.chain_id = chosen.chain_id AND agent.identity_registry = registry.identity_registry
AND agent.agent_id = chosen.agent_id AND (agent.owner = chosen.account OR agent.wallet = chosen.account);
CREATE VIEW "feedback" AS
SELECT given.*, revoked.block_number AS revoked_block, revoked.chain_id IS NOT NULL AS is_revoked,
EXISTS (
SELECT 1 FROM ratings_opened opened
WHERE opened.chain_id = given.chain_id AND opened.block_number = given.block_number
AND opened.log_index = given.log_index + 1 AND opened.registry = given.registry
AND opened.server_id = given.agent_id AND opened.client = given.client_address
AND opened.feedback_index = given.feedback_index) AS is_blind
FROM new_feedback given
LEFT JOIN feedback_revoked revoked
ON revoked.chain_id = given.chain_id AND revoked.registry = given.registry
AND revoked.agent_id = given.agent_id AND revoked.client_address = given.client_address
AND revoked.feedback_index = given.feedback_index
AND (+revoked.block_number, revoked.log_index) > (given.block_number, given.log_index)
AND NOT EXISTS (
SELECT 1 FROM feedback_revoked earlier
WHERE earlier.chain_id = given.chain_id AND earlier.registry = given.registry
AND earlier.agent_id = given.agent_id AND earlier.client_address = given.client_address
AND earlier.feedback_index = given.feedback_index
AND (+earlier.block_number, earlier.log_index) > (given.block_number, given.log_index)
AND (+earlier.block_number, earlier.log_index) < (revoked.block_number, revoked.log_index))
AND NOT EXISTS (
SELECT 1 FROM new_feedback again
WHERE again.chain_id = given.chain_id AND again.registry = given.registry
AND again.agent_id = given.agent_id AND again.client_address = given.client_address
AND again.feedback_index = given.feedback_index
AND (+again.block_number, again.log_index) > (given.block_number, given.log_index)
AND (+again.block_number, again.log_index) < (revoked.block_number, revoked.log_index));
CREATE VIEW "rating" AS
SELECT chain_id, registry, 'client' AS side, client_id AS agent_id, server_id, rating,
block_number, log_index, block_time, transaction_hash,
EXISTS (
SELECT 1 FROM ratings_opened opened
WHERE opened.chain_id = rated.chain_id AND opened.block_number = rated.block_number
AND opened.log_index IN (rated.log_index + 1, rated.log_index + 2)
AND opened.registry = rated.registry AND opened.client_id = rated.client_id
AND opened.server_id = rated.server_id) AS is_blind
FROM client_rated rated
UNION ALL
SELECT chain_id, registry, 'validator', validator_id, server_id, rating,
block_number, log_index, block_time, transaction_hash, FALSE FROM validator_rated;
CREATE VIEW "referenced_file" AS
SELECT named.chain_id, named.block_number, named.log_index, named.kind, named.registry, named.agent_id,
named.file_id, found.uri, found.expected_hash, found.state, found.content_hash, found.integrity,
found.reason, found.problem, found.failures, found.found_at, found.checked_at, found.changed_at
FROM file_reference named JOIN file found ON found.file_id = named.file_id;
CREATE VIEW "sealed_pair" AS
SELECT sealed.chain_id, sealed.registry, sealed.client_id, sealed.server_id, sealed.interaction,
sealed.block_number, sealed.log_index, sealed.block_time, sealed.transaction_hash,
opened.client AS client_address, opened.feedback_index, opened.block_time AS feedback_opened_at,
rated.block_time AS rating_opened_at,
CASE WHEN opened.chain_id IS NULL AND rated.chain_id IS NULL THEN 'sealed'
WHEN opened.chain_id IS NULL OR rated.chain_id IS NULL THEN 'withheld'
ELSE 'opened' END AS state
FROM ratings_sealed sealed
LEFT JOIN ratings_opened opened
ON opened.chain_id = sealed.chain_id AND opened.registry = sealed.registry
AND opened.client_id = sealed.client_id AND opened.server_id = sealed.server_id
AND opened.interaction = sealed.interaction AND opened.feedback_index <> 0
AND (opened.block_number, opened.log_index) > (sealed.block_number, sealed.log_index)
LEFT JOIN client_rated rated
ON rated.chain_id = sealed.chain_id AND rated.registry = sealed.registry
AND rated.client_id = sealed.client_id AND rated.server_id = sealed.server_id
AND (rated.block_number, rated.log_index) > (sealed.block_number, sealed.log_index);
CREATE VIEW "validation" AS
SELECT requested.chain_id, requested.registry, requested.request_hash, requested.agent_id,
requested.validator_address, requested.request_uri, requested.block_number AS requested_block,
requested.block_time AS requested_at, answered.response, answered.response_uri,
answered.response_hash, answered.tag, answered.block_number AS answered_block,
answered.block_time AS answered_at
FROM validation_request requested
LEFT JOIN validation_response answered
ON answered.chain_id = requested.chain_id AND answered.registry = requested.registry
AND answered.request_hash = requested.request_hash
AND NOT EXISTS (
SELECT 1 FROM validation_response later
WHERE later.chain_id = answered.chain_id AND later.registry = answered.registry
AND later.request_hash = answered.request_hash
AND (later.block_number, later.log_index) > (answered.block_number, answered.log_index));

-- PostgreSQL
CREATE TABLE abandoned_file ( file_id BYTEA NOT NULL,
  abandoned_at BIGINT NOT NULL,
  PRIMARY KEY (file_id) );
CREATE TABLE agent ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  owner VARCHAR(42) COLLATE "C" NOT NULL,
  wallet VARCHAR(42) COLLATE "C",
  uri TEXT NOT NULL,
  domain TEXT NOT NULL,
  registered_block BIGINT NOT NULL,
  registered_at BIGINT NOT NULL,
  updated_block BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, agent_id) ) PARTITION BY LIST (chain_id);
CREATE INDEX agent_by_change ON agent (chain_id, updated_at);
CREATE INDEX agent_by_owner ON agent (chain_id, owner);
CREATE INDEX agent_by_registration ON agent (chain_id, registered_at);
CREATE INDEX agent_by_wallet ON agent (chain_id, wallet);
CREATE TABLE agent_account ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  owner VARCHAR(42) COLLATE "C",
  wallet VARCHAR(42) COLLATE "C",
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE INDEX agent_account_by_agent ON agent_account (chain_id, identity_registry, agent_id);
CREATE INDEX agent_account_by_wallet ON agent_account (chain_id, wallet);
CREATE TABLE agent_activity ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  id_text VARCHAR(78) COLLATE "C" NOT NULL,
  registered_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  last_activity BIGINT NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, agent_id) );
CREATE INDEX agent_activity_by_id ON agent_activity (chain_id, identity_registry, id_text);
CREATE INDEX agent_activity_by_last_activity ON agent_activity (chain_id, identity_registry, last_activity, id_text);
CREATE INDEX agent_activity_by_registered_at ON agent_activity (chain_id, identity_registry, registered_at, id_text);
CREATE INDEX agent_activity_by_updated_at ON agent_activity (chain_id, identity_registry, updated_at, id_text);
CREATE TABLE agent_count_raised ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_count NUMERIC(78, 0) NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE TABLE agent_enrichment ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  service_name VARCHAR(200) NOT NULL,
  content TEXT NOT NULL,
  issued_at BIGINT NOT NULL,
  content_hash BYTEA NOT NULL,
  signer VARCHAR(42) COLLATE "C",
  signature BYTEA,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, agent_id, service_name) );
CREATE TABLE agent_file ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  file_id BYTEA NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, agent_id) );
CREATE INDEX agent_file_by_file ON agent_file (file_id) INCLUDE (chain_id, identity_registry, agent_id);
CREATE TABLE agent_metadata ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  metadata_key TEXT COLLATE "C" NOT NULL,
  metadata_value BYTEA NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, agent_id, metadata_key) ) PARTITION BY LIST (chain_id);
CREATE TABLE agent_registered ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  agent_domain TEXT NOT NULL,
  agent_address VARCHAR(42) COLLATE "C" NOT NULL,
  raw_data BYTEA,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX agent_registered_by_address ON agent_registered (chain_id, registry, agent_address);
CREATE INDEX agent_registered_by_agent ON agent_registered (chain_id, registry, agent_id);
CREATE TABLE agent_review ( id VARCHAR(64) NOT NULL,
  chain_id BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  payment_position INTEGER NOT NULL,
  buyer VARCHAR(42) COLLATE "C" NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  score INTEGER NOT NULL,
  tag1 TEXT NOT NULL,
  tag2 TEXT NOT NULL,
  note TEXT NOT NULL,
  content_hash BYTEA NOT NULL,
  signer VARCHAR(42) COLLATE "C",
  signature BYTEA,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (id) );
CREATE INDEX agent_review_by_buyer ON agent_review (chain_id, buyer);
CREATE UNIQUE INDEX agent_review_by_payment ON agent_review (chain_id, transaction_hash, payment_position);
CREATE TABLE agent_updated ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  agent_domain TEXT NOT NULL,
  agent_address VARCHAR(42) COLLATE "C" NOT NULL,
  raw_data BYTEA,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX agent_updated_by_address ON agent_updated (chain_id, registry, agent_address);
CREATE INDEX agent_updated_by_agent ON agent_updated (chain_id, registry, agent_id);
CREATE TABLE analysis ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  block_number BIGINT NOT NULL,
  block_hash BYTEA NOT NULL,
  is_exact BOOLEAN NOT NULL,
  made_at BIGINT NOT NULL,
  agents BIGINT NOT NULL,
  opinions BIGINT NOT NULL,
  left_out BIGINT NOT NULL,
  accounts_without_funding BIGINT NOT NULL,
  trusted_accounts INTEGER NOT NULL,
  reviewed_cases INTEGER NOT NULL,
  threshold FLOAT(53) NOT NULL,
  run BIGINT,
  seen_block BIGINT,
  first_run BIGINT,
  first_seen_block BIGINT,
  PRIMARY KEY (chain_id, identity_registry) );
CREATE TABLE anchored ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  epoch NUMERIC(78, 0) NOT NULL,
  root BYTEA NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX anchored_by_subject ON anchored (chain_id, registry, epoch);
CREATE TABLE approval ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  owner VARCHAR(42) COLLATE "C" NOT NULL,
  account VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX approval_by_subject ON approval (chain_id, registry, agent_id);
CREATE TABLE approval_for_all ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  owner VARCHAR(42) COLLATE "C" NOT NULL,
  operator VARCHAR(42) COLLATE "C" NOT NULL,
  is_approved BOOLEAN NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX approval_for_all_by_owner ON approval_for_all (chain_id, registry, owner);
CREATE TABLE auth_feedback ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_client_id NUMERIC(78, 0) NOT NULL,
  agent_server_id NUMERIC(78, 0) NOT NULL,
  feedback_auth_id BYTEA NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE TABLE blind_pair ( pair_id BIGSERIAL NOT NULL,
  chain_id BIGINT NOT NULL,
  account VARCHAR(42) COLLATE "C" NOT NULL,
  client_id NUMERIC(78, 0) NOT NULL,
  client VARCHAR(42) COLLATE "C" NOT NULL,
  server_id NUMERIC(78, 0) NOT NULL,
  server VARCHAR(42) COLLATE "C" NOT NULL,
  interaction BYTEA NOT NULL,
  client_envelope TEXT,
  client_opening TEXT,
  server_envelope TEXT,
  server_opening TEXT,
  state VARCHAR(9) NOT NULL,
  attempts INTEGER NOT NULL,
  next_at FLOAT(53) NOT NULL,
  problem TEXT,
  accepted_at BIGINT NOT NULL,
  PRIMARY KEY (pair_id), UNIQUE (chain_id, client_id, client, server_id, server, interaction) );
CREATE INDEX blind_pair_by_state ON blind_pair (chain_id, account, state, next_at);
CREATE TABLE block ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  block_hash BYTEA NOT NULL,
  PRIMARY KEY (chain_id, block_number) );
CREATE TABLE buyer_anchor ( chain_id BIGINT NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  epoch BIGINT NOT NULL,
  root BYTEA NOT NULL,
  made_at BIGINT NOT NULL,
  states BIGINT NOT NULL,
  PRIMARY KEY (chain_id, registry, epoch) );
CREATE TABLE buyer_dispute ( id VARCHAR(64) NOT NULL,
  chain_id BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  payment_position INTEGER NOT NULL,
  buyer VARCHAR(42) COLLATE "C" NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  state VARCHAR(9) NOT NULL,
  reason TEXT NOT NULL,
  content_hash BYTEA NOT NULL,
  signer VARCHAR(42) COLLATE "C",
  signature BYTEA,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (id) );
CREATE INDEX buyer_dispute_by_buyer ON buyer_dispute (chain_id, buyer);
CREATE UNIQUE INDEX buyer_dispute_by_payment ON buyer_dispute (chain_id, transaction_hash, payment_position);
CREATE TABLE buyer_feedback ( id VARCHAR(64) NOT NULL,
  chain_id BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  payment_position INTEGER NOT NULL,
  buyer VARCHAR(42) COLLATE "C" NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  score INTEGER NOT NULL,
  tags TEXT NOT NULL,
  note TEXT NOT NULL,
  is_counted BOOLEAN NOT NULL,
  content_hash BYTEA NOT NULL,
  signer VARCHAR(42) COLLATE "C",
  signature BYTEA,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (id) );
CREATE INDEX buyer_feedback_by_buyer ON buyer_feedback (chain_id, buyer);
CREATE UNIQUE INDEX buyer_feedback_by_payment ON buyer_feedback (chain_id, transaction_hash, payment_position, is_counted);
CREATE TABLE buyer_reply ( message_id VARCHAR(64) NOT NULL,
  chain_id BIGINT NOT NULL,
  buyer VARCHAR(42) COLLATE "C" NOT NULL,
  reply TEXT NOT NULL,
  content_hash BYTEA NOT NULL,
  signer VARCHAR(42) COLLATE "C",
  signature BYTEA,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (message_id) );
CREATE TABLE buyer_state ( chain_id BIGINT NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  epoch BIGINT NOT NULL,
  buyer VARCHAR(42) COLLATE "C" NOT NULL,
  payments_chain_id BIGINT NOT NULL,
  policy VARCHAR(64) NOT NULL,
  score INTEGER NOT NULL,
  tier INTEGER NOT NULL,
  payments BIGINT NOT NULL,
  volume NUMERIC(78, 0) NOT NULL,
  first_payment_at BIGINT NOT NULL,
  last_payment_at BIGINT NOT NULL,
  reviews BIGINT NOT NULL,
  review_sum BIGINT NOT NULL,
  feedback_sellers BIGINT NOT NULL,
  feedback_sum BIGINT NOT NULL,
  disputes BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  node BIGINT,
  PRIMARY KEY (chain_id, registry, epoch, buyer, payments_chain_id, policy) );
CREATE TABLE buyer_tree ( chain_id BIGINT NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  epoch BIGINT NOT NULL,
  part BIGINT NOT NULL,
  nodes BYTEA NOT NULL,
  PRIMARY KEY (chain_id, registry, epoch, part) );
CREATE TABLE chain ( chain_id BIGINT NOT NULL,
  first_block BIGINT NOT NULL,
  journal_from BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  head_number BIGINT NOT NULL,
  finalized_number BIGINT,
  endpoint TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  event_rows BIGINT NOT NULL,
  reorganizations BIGINT NOT NULL,
  last_reorganization_at BIGINT,
  last_reorganization_depth BIGINT,
  problem TEXT,
  PRIMARY KEY (chain_id) );
CREATE TABLE change_note ( step BIGINT NOT NULL,
  position INTEGER NOT NULL,
  kind VARCHAR(8) NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0),
  account VARCHAR(42) COLLATE "C",
  details TEXT NOT NULL,
  PRIMARY KEY (step, position) );
CREATE TABLE change_step ( step BIGINT NOT NULL,
  kind VARCHAR(8) NOT NULL,
  chain_id BIGINT NOT NULL,
  first_block BIGINT NOT NULL,
  last_block BIGINT NOT NULL,
  kept_block BIGINT,
  removal BIGINT,
  changes BIGINT NOT NULL,
  made_at BIGINT NOT NULL,
  PRIMARY KEY (step) );
CREATE INDEX change_step_by_block ON change_step (chain_id, kept_block);
CREATE TABLE channel ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  token VARCHAR(42) COLLATE "C" NOT NULL,
  channel_id BYTEA NOT NULL,
  payer VARCHAR(42) COLLATE "C" NOT NULL,
  receiver VARCHAR(42) COLLATE "C" NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE INDEX channel_by_id ON channel (chain_id, channel_id);
CREATE TABLE channel_fund ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  channel_id BYTEA NOT NULL,
  funder VARCHAR(42) COLLATE "C" NOT NULL,
  remaining NUMERIC(78, 0) NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index, funder) );
CREATE INDEX channel_fund_by_channel ON channel_fund (chain_id, channel_id, funder, block_number, log_index);
CREATE TABLE client_rated ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  client_id NUMERIC(78, 0) NOT NULL,
  server_id NUMERIC(78, 0) NOT NULL,
  rating BIGINT NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX client_rated_by_server ON client_rated (chain_id, registry, server_id, client_id);
CREATE INDEX client_rated_by_subject ON client_rated (chain_id, registry, client_id, server_id);
CREATE TABLE counterpart ( chain_id BIGINT NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  side VARCHAR(9) COLLATE "C" NOT NULL,
  tag TEXT COLLATE "C" NOT NULL,
  account VARCHAR(84) COLLATE "C" NOT NULL,
  count BIGINT NOT NULL,
  share_sum BIGINT NOT NULL,
  unit_sum NUMERIC(78, 0) NOT NULL,
  PRIMARY KEY (chain_id, registry, agent_id, side, tag, account) ) PARTITION BY LIST (chain_id);
CREATE TABLE credential_holder ( day BIGINT NOT NULL,
  pseudonym BYTEA NOT NULL,
  place INTEGER NOT NULL,
  mark BYTEA NOT NULL,
  PRIMARY KEY (day, pseudonym, place) );
CREATE TABLE credential_secret ( day BIGINT NOT NULL,
  secret BYTEA NOT NULL,
  PRIMARY KEY (day) );
CREATE TABLE endpoint_change ( change_id BIGSERIAL NOT NULL,
  chain_id BIGINT NOT NULL,
  endpoint_id BYTEA NOT NULL,
  seen_block BIGINT NOT NULL,
  at BIGINT NOT NULL,
  kind VARCHAR(12) NOT NULL, "old" TEXT, "new" TEXT,
  code VARCHAR(40),
  PRIMARY KEY (change_id), UNIQUE (chain_id, endpoint_id, kind, at) );
CREATE INDEX endpoint_change_by_id ON endpoint_change (chain_id, endpoint_id, change_id);
CREATE TABLE endpoint_day ( chain_id BIGINT NOT NULL,
  endpoint_id BYTEA NOT NULL,
  day INTEGER NOT NULL,
  vantage VARCHAR(60) NOT NULL,
  scheduled INTEGER NOT NULL,
  up INTEGER NOT NULL,
  gated INTEGER NOT NULL,
  degraded INTEGER NOT NULL,
  down INTEGER NOT NULL,
  unknown INTEGER NOT NULL,
  unfit INTEGER NOT NULL,
  median_ms INTEGER,
  p95_ms INTEGER,
  PRIMARY KEY (chain_id, endpoint_id, day, vantage) );
CREATE TABLE endpoint_limit ( chain_id BIGINT NOT NULL,
  endpoint VARCHAR(300) NOT NULL,
  blocks BIGINT NOT NULL,
  ceiling BIGINT,
  learnt_at BIGINT NOT NULL,
  lost_logs_at BIGINT,
  PRIMARY KEY (chain_id, endpoint) );
CREATE TABLE endpoint_state ( chain_id BIGINT NOT NULL,
  endpoint_id BYTEA NOT NULL,
  vantage VARCHAR(60) NOT NULL,
  state VARCHAR(8),
  code VARCHAR(40),
  since BIGINT,
  probed_at BIGINT,
  alive_at BIGINT,
  failures INTEGER NOT NULL,
  milliseconds INTEGER,
  PRIMARY KEY (chain_id, endpoint_id, vantage) );
CREATE TABLE feedback_attested ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  buyer VARCHAR(42) COLLATE "C" NOT NULL,
  seller VARCHAR(42) COLLATE "C" NOT NULL,
  score BIGINT NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX feedback_attested_by_subject ON feedback_attested (chain_id, registry, buyer);
CREATE TABLE feedback_file ( content_hash BYTEA NOT NULL,
  agent_registry TEXT,
  agent_id TEXT,
  client_address TEXT,
  created_at TEXT,
  value TEXT,
  value_decimals TEXT,
  tag1 TEXT,
  tag2 TEXT,
  endpoint TEXT,
  text TEXT,
  comment TEXT,
  mcp_tool TEXT,
  mcp_prompt TEXT,
  mcp_resource TEXT,
  a2a_skills TEXT,
  a2a_context_id TEXT,
  a2a_task_id TEXT,
  oasf_skills TEXT,
  oasf_domains TEXT,
  payment_from TEXT,
  payment_to TEXT,
  payment_chain_id TEXT,
  payment_transaction TEXT,
  task_ref TEXT,
  interaction_hash TEXT,
  agent_signature TEXT,
  client_signature TEXT,
  problems TEXT NOT NULL,
  PRIMARY KEY (content_hash),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE TABLE feedback_revoked ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  client_address VARCHAR(42) COLLATE "C" NOT NULL,
  feedback_index NUMERIC(78, 0) NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX feedback_revoked_by_subject ON feedback_revoked (chain_id, registry, agent_id, client_address, feedback_index);
CREATE TABLE file ( file_id BYTEA NOT NULL,
  kind VARCHAR(12) NOT NULL,
  uri TEXT NOT NULL,
  expected_hash BYTEA,
  host VARCHAR(300),
  state VARCHAR(9) NOT NULL,
  content_hash BYTEA,
  integrity VARCHAR(7),
  reason VARCHAR(40),
  problem TEXT,
  etag TEXT,
  last_modified TEXT,
  found_at BIGINT NOT NULL,
  checked_at BIGINT,
  changed_at BIGINT,
  attempts INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  refresh_seconds INTEGER NOT NULL,
  next_at FLOAT(53),
  lease BYTEA,
  PRIMARY KEY (file_id) );
CREATE INDEX file_by_content ON file (content_hash) INCLUDE (file_id, state);
CREATE INDEX file_by_host ON file (host, next_at);
CREATE INDEX file_by_id ON file (file_id) INCLUDE (content_hash, state);
CREATE INDEX file_by_state ON file (state);
CREATE INDEX file_from_host ON file (content_hash) WHERE kind IN ('domain', 'registration') AND substr(uri, 1, 8) = 'https://' AND content_hash IS NOT NULL;
CREATE TABLE file_content ( content_hash BYTEA NOT NULL,
  size INTEGER NOT NULL,
  content BYTEA NOT NULL,
  PRIMARY KEY (content_hash) );
CREATE TABLE file_host ( host VARCHAR(300) NOT NULL,
  next_at FLOAT(53),
  closed_until FLOAT(53) NOT NULL,
  failures INTEGER NOT NULL,
  PRIMARY KEY (host) );
CREATE INDEX file_host_by_time ON file_host (next_at);
CREATE TABLE file_reference ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  kind VARCHAR(12) NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  file_id BYTEA,
  PRIMARY KEY (chain_id, block_number, log_index),
  FOREIGN KEY(file_id) REFERENCES file (file_id) );
CREATE INDEX file_reference_by_agent ON file_reference (chain_id, registry, agent_id, block_number, log_index) WHERE kind = 'registration';
CREATE INDEX file_reference_by_file ON file_reference (file_id);
CREATE INDEX file_reference_of_domain ON file_reference (chain_id, registry, agent_id, block_number, log_index) WHERE kind = 'domain';
CREATE TABLE file_scan ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  generation BIGINT NOT NULL,
  PRIMARY KEY (chain_id) );
CREATE TABLE file_sight ( sight_id BIGSERIAL NOT NULL,
  chain_id BIGINT NOT NULL,
  file_id BYTEA NOT NULL,
  seen_block BIGINT NOT NULL,
  state VARCHAR(9) NOT NULL,
  content_hash BYTEA,
  integrity VARCHAR(7),
  reason VARCHAR(40),
  PRIMARY KEY (sight_id) );
CREATE INDEX file_sight_by_file ON file_sight (file_id, chain_id, seen_block);
CREATE TABLE finding ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  finding_id VARCHAR(60) NOT NULL,
  detector VARCHAR(40) NOT NULL,
  q_value FLOAT(53) NOT NULL,
  strength FLOAT(53) NOT NULL,
  statistic TEXT NOT NULL,
  sentence TEXT NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, finding_id) );
CREATE TABLE finding_member ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  finding_id VARCHAR(60) NOT NULL,
  part VARCHAR(11) NOT NULL,
  account VARCHAR(42) COLLATE "C" NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, finding_id, part, account) );
CREATE INDEX finding_member_by_account ON finding_member (chain_id, account);
CREATE TABLE finding_row ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  finding_id VARCHAR(60) NOT NULL,
  position INTEGER NOT NULL,
  table_name VARCHAR(40) NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER,
  transaction_hash BYTEA,
  PRIMARY KEY (chain_id, identity_registry, finding_id, position) );
CREATE INDEX finding_row_by_block ON finding_row (chain_id, block_number);
CREATE TABLE funding ( chain_id BIGINT NOT NULL,
  account VARCHAR(42) COLLATE "C" NOT NULL,
  state VARCHAR(8) NOT NULL,
  source VARCHAR(42) COLLATE "C",
  amount NUMERIC(78, 0),
  block_number BIGINT NOT NULL,
  block_time BIGINT,
  transaction_hash BYTEA,
  seen_block BIGINT,
  PRIMARY KEY (chain_id, account) );
CREATE INDEX funding_by_source ON funding (chain_id, source);
CREATE TABLE journal ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  position INTEGER NOT NULL,
  table_name VARCHAR(40) NOT NULL,
  row_key BYTEA NOT NULL,
  former_row BYTEA,
  PRIMARY KEY (chain_id, block_number, position) );
CREATE TABLE known_word ( word VARCHAR(40) NOT NULL,
  trigrams INTEGER NOT NULL,
  PRIMARY KEY (word) );
CREATE TABLE late_payment ( chain_id BIGINT NOT NULL,
  first_block BIGINT NOT NULL,
  seen_block BIGINT NOT NULL,
  PRIMARY KEY (chain_id, first_block) );
CREATE INDEX late_payment_by_sight ON late_payment (chain_id, seen_block, first_block);
CREATE TABLE metadata_set ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  indexed_metadata_key BYTEA NOT NULL,
  metadata_key TEXT NOT NULL,
  metadata_value BYTEA NOT NULL,
  raw_data BYTEA,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX metadata_set_by_subject ON metadata_set (chain_id, registry, agent_id);
CREATE INDEX metadata_set_by_wallet ON metadata_set (chain_id, registry, metadata_value) WHERE metadata_key = 'agentWallet' AND length(metadata_value) = 20;
CREATE TABLE metadata_update ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE TABLE new_authorized_feedback ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  client_address VARCHAR(42) COLLATE "C" NOT NULL,
  score BIGINT NOT NULL,
  tag1 BYTEA NOT NULL,
  tag2 BYTEA NOT NULL,
  file_uri TEXT NOT NULL,
  file_hash BYTEA NOT NULL,
  raw_data BYTEA,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX new_authorized_feedback_by_client ON new_authorized_feedback (chain_id, client_address, block_number, log_index);
CREATE INDEX new_authorized_feedback_by_subject ON new_authorized_feedback (chain_id, registry, agent_id, client_address);
CREATE TABLE new_feedback ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  client_address VARCHAR(42) COLLATE "C" NOT NULL,
  feedback_index NUMERIC(78, 0) NOT NULL,
  value NUMERIC(78, 0) NOT NULL,
  value_decimals BIGINT NOT NULL,
  indexed_tag1 BYTEA NOT NULL,
  tag1 TEXT NOT NULL,
  tag2 TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  feedback_uri TEXT NOT NULL,
  feedback_hash BYTEA NOT NULL,
  raw_data BYTEA,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX new_feedback_by_agent ON new_feedback (chain_id, registry, agent_id, block_number, log_index);
CREATE INDEX new_feedback_by_client ON new_feedback (chain_id, client_address, block_number, log_index);
CREATE INDEX new_feedback_by_subject ON new_feedback (chain_id, registry, agent_id, client_address, feedback_index);
CREATE TABLE payment ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  token VARCHAR(42) COLLATE "C" NOT NULL,
  payer VARCHAR(42) COLLATE "C" NOT NULL,
  payee VARCHAR(42) COLLATE "C" NOT NULL,
  amount NUMERIC(78, 0) NOT NULL,
  micros BIGINT NOT NULL,
  nonce BYTEA,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  owner VARCHAR(42) COLLATE "C" NOT NULL,
  kinship VARCHAR(8),
  position INTEGER DEFAULT '0' NOT NULL,
  kind VARCHAR(16) DEFAULT 'eip3009' NOT NULL,
  ceiling NUMERIC(78, 0),
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE INDEX payment_by_payee ON payment (chain_id, payee, block_number, log_index);
CREATE INDEX payment_by_payer ON payment (chain_id, payer, block_number, log_index);
CREATE INDEX payment_by_seller ON payment (chain_id, payer, identity_registry, agent_id, block_number, kinship, micros, block_time);
CREATE INDEX payment_by_transaction ON payment (transaction_hash);
CREATE TABLE payment_attested ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  payment NUMERIC(78, 0) NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX payment_attested_by_subject ON payment_attested (chain_id, registry, payment);
CREATE TABLE payment_claim ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  tag TEXT NOT NULL,
  account VARCHAR(42) COLLATE "C" NOT NULL,
  share BIGINT NOT NULL,
  units BIGINT NOT NULL,
  payer VARCHAR(42) COLLATE "C",
  payee VARCHAR(42) COLLATE "C",
  is_bound BOOLEAN NOT NULL,
  file_id BYTEA NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) );
CREATE INDEX payment_claim_by_agent ON payment_claim (chain_id, tag, registry, agent_id);
CREATE INDEX payment_claim_by_file ON payment_claim (file_id);
CREATE TABLE payment_cursor ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  block_hash BYTEA NOT NULL,
  terms TEXT NOT NULL,
  changed_at BIGINT NOT NULL,
  confirmations INTEGER DEFAULT '1' NOT NULL,
  PRIMARY KEY (chain_id) );
CREATE TABLE payment_not_counted ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  buyer VARCHAR(42) COLLATE "C" NOT NULL,
  seller_id NUMERIC(78, 0) NOT NULL,
  amount NUMERIC(78, 0) NOT NULL,
  nonce BYTEA NOT NULL,
  reason BIGINT NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE TABLE payment_return ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  token VARCHAR(42) COLLATE "C" NOT NULL,
  payee VARCHAR(42) COLLATE "C" NOT NULL,
  receiver VARCHAR(42) COLLATE "C" NOT NULL,
  micros BIGINT NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index, payee) );
CREATE INDEX payment_return_by_receiver ON payment_return (chain_id, receiver, payee);
CREATE TABLE payment_settled ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  buyer VARCHAR(42) COLLATE "C" NOT NULL,
  seller_id NUMERIC(78, 0) NOT NULL,
  amount NUMERIC(78, 0) NOT NULL,
  nonce BYTEA NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX payment_settled_by_subject ON payment_settled (chain_id, registry, buyer);
CREATE TABLE primary_agent ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  account VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, account) ) PARTITION BY LIST (chain_id);
CREATE TABLE primary_agent_set ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  account VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE TABLE ratings_opened ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  client_id NUMERIC(78, 0) NOT NULL,
  server_id NUMERIC(78, 0) NOT NULL,
  interaction BYTEA NOT NULL,
  client VARCHAR(42) COLLATE "C" NOT NULL,
  feedback_index NUMERIC(78, 0) NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX ratings_opened_by_subject ON ratings_opened (chain_id, registry, client_id, server_id);
CREATE TABLE ratings_sealed ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  client_id NUMERIC(78, 0) NOT NULL,
  server_id NUMERIC(78, 0) NOT NULL,
  interaction BYTEA NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX ratings_sealed_by_server ON ratings_sealed (chain_id, registry, server_id, client_id);
CREATE INDEX ratings_sealed_by_subject ON ratings_sealed (chain_id, registry, client_id, server_id);
CREATE TABLE refused_feedback ( day INTEGER NOT NULL,
  code VARCHAR(40) NOT NULL,
  band INTEGER NOT NULL,
  count BIGINT NOT NULL,
  PRIMARY KEY (day, code, band) );
CREATE TABLE registered ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  agent_uri TEXT NOT NULL,
  owner VARCHAR(42) COLLATE "C" NOT NULL,
  raw_data BYTEA,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX registered_by_agent ON registered (chain_id, registry, agent_id);
CREATE TABLE registration_alive ( content_hash BYTEA NOT NULL,
  up_at BIGINT,
  alive_at BIGINT,
  probed_at BIGINT NOT NULL,
  PRIMARY KEY (content_hash),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE INDEX registration_alive_by_time ON registration_alive (alive_at);
CREATE INDEX registration_alive_by_up ON registration_alive (up_at);
CREATE TABLE registration_capability ( content_hash BYTEA NOT NULL,
  kind VARCHAR(14) NOT NULL,
  position INTEGER NOT NULL,
  value VARCHAR(200) NOT NULL,
  PRIMARY KEY (content_hash, kind, position),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE INDEX registration_capability_by_value ON registration_capability (kind, value);
CREATE TABLE registration_card ( content_hash BYTEA NOT NULL,
  mcp_endpoint TEXT,
  mcp_version TEXT,
  a2a_endpoint TEXT,
  a2a_version TEXT,
  web_endpoint TEXT,
  oasf_endpoint TEXT,
  oasf_version TEXT,
  email_endpoint TEXT,
  ens TEXT,
  did TEXT,
  services TEXT NOT NULL,
  supported_trusts TEXT NOT NULL,
  mcp_tools TEXT NOT NULL,
  mcp_prompts TEXT NOT NULL,
  mcp_resources TEXT NOT NULL,
  a2a_skills TEXT NOT NULL,
  oasf_skills TEXT NOT NULL,
  oasf_domains TEXT NOT NULL,
  PRIMARY KEY (content_hash),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE TABLE registration_claim ( content_hash BYTEA NOT NULL,
  position INTEGER NOT NULL,
  agent_registry VARCHAR(200) NOT NULL,
  agent_id NUMERIC(78, 0),
  PRIMARY KEY (content_hash, position),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE INDEX registration_claim_by_agent ON registration_claim (agent_registry, agent_id);
CREATE TABLE registration_domain ( content_hash BYTEA NOT NULL,
  position INTEGER NOT NULL,
  host VARCHAR(300) NOT NULL,
  file_id BYTEA NOT NULL,
  PRIMARY KEY (content_hash, position),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE INDEX registration_domain_by_file ON registration_domain (file_id);
CREATE TABLE registration_endpoint ( content_hash BYTEA NOT NULL,
  position INTEGER NOT NULL,
  endpoint_id BYTEA NOT NULL,
  protocol VARCHAR(8) NOT NULL,
  url TEXT NOT NULL,
  host VARCHAR(300) NOT NULL,
  is_paid BOOLEAN NOT NULL,
  is_probed BOOLEAN NOT NULL,
  method VARCHAR(8),
  PRIMARY KEY (content_hash, position),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE INDEX registration_endpoint_by_id ON registration_endpoint (endpoint_id);
CREATE TABLE registration_file ( content_hash BYTEA NOT NULL,
  type TEXT,
  name TEXT,
  description TEXT,
  image TEXT,
  active BOOLEAN,
  x402_support BOOLEAN,
  problems TEXT NOT NULL,
  PRIMARY KEY (content_hash),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE TABLE registration_service ( content_hash BYTEA NOT NULL,
  position INTEGER NOT NULL,
  name VARCHAR(100) NOT NULL,
  endpoint TEXT,
  version TEXT,
  PRIMARY KEY (content_hash, position),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE INDEX registration_service_by_name ON registration_service (name);
CREATE TABLE registration_vector ( vector_id BIGSERIAL NOT NULL,
  content_hash BYTEA NOT NULL,
  model VARCHAR(60) NOT NULL,
  words INTEGER NOT NULL,
  vector BYTEA NOT NULL,
  PRIMARY KEY (vector_id), UNIQUE (content_hash),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE TABLE registration_words ( document_id BIGSERIAL NOT NULL,
  content_hash BYTEA NOT NULL,
  name_words TSVECTOR NOT NULL,
  words TSVECTOR NOT NULL,
  PRIMARY KEY (document_id), UNIQUE (content_hash),
  FOREIGN KEY(content_hash) REFERENCES file_content (content_hash) ON DELETE CASCADE );
CREATE INDEX registration_words_by_name ON registration_words USING gin (name_words);
CREATE INDEX registration_words_by_word ON registration_words USING gin (words);
CREATE TABLE registry ( chain_id BIGINT NOT NULL,
  address VARCHAR(42) COLLATE "C" NOT NULL,
  kind VARCHAR(40) NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  first_block BIGINT NOT NULL,
  PRIMARY KEY (chain_id, address) );
CREATE TABLE removed_change ( chain_id BIGINT NOT NULL,
  removal BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  step BIGINT NOT NULL,
  table_name VARCHAR(40) NOT NULL,
  packed_row BYTEA NOT NULL,
  PRIMARY KEY (chain_id, removal, block_number, log_index) );
CREATE INDEX removed_change_by_step ON removed_change (step, block_number, log_index);
CREATE TABLE response_appended ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  client_address VARCHAR(42) COLLATE "C" NOT NULL,
  feedback_index NUMERIC(78, 0) NOT NULL,
  responder VARCHAR(42) COLLATE "C" NOT NULL,
  response_uri TEXT NOT NULL,
  response_hash BYTEA NOT NULL,
  raw_data BYTEA,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX response_appended_by_responder ON response_appended (chain_id, registry, agent_id, client_address, feedback_index, responder, block_number, log_index);
CREATE INDEX response_appended_by_subject ON response_appended (chain_id, registry, agent_id, client_address, feedback_index, block_number, log_index);
CREATE TABLE reviews_attested ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  buyer VARCHAR(42) COLLATE "C" NOT NULL,
  reviews BIGINT NOT NULL,
  review_sum BIGINT NOT NULL,
  disputes BIGINT NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX reviews_attested_by_subject ON reviews_attested (chain_id, registry, buyer);
CREATE TABLE role_taken ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  role BIGINT NOT NULL,
  former_holder VARCHAR(42) COLLATE "C" NOT NULL,
  holder VARCHAR(42) COLLATE "C" NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE TABLE signatures_voided ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  client_address VARCHAR(42) COLLATE "C" NOT NULL,
  deadline NUMERIC(78, 0) NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE TABLE solana_proof ( sight_id BIGINT NOT NULL,
  chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  solana_agent VARCHAR(200) NOT NULL,
  names_back BOOLEAN NOT NULL,
  problem TEXT NOT NULL,
  checked_at BIGINT NOT NULL,
  PRIMARY KEY (sight_id) );
CREATE INDEX solana_proof_by_agent ON solana_proof (chain_id, identity_registry, agent_id, solana_agent, sight_id);
CREATE TABLE sponsor ( chain_id BIGINT NOT NULL,
  account VARCHAR(42) COLLATE "C" NOT NULL,
  lease BYTEA,
  leased_until FLOAT(53) NOT NULL,
  PRIMARY KEY (chain_id, account) );
CREATE TABLE sponsor_day ( chain_id BIGINT NOT NULL,
  account VARCHAR(42) COLLATE "C" NOT NULL,
  day INTEGER NOT NULL,
  cost NUMERIC(78, 0) NOT NULL,
  PRIMARY KEY (chain_id, account, day) );
CREATE TABLE sponsored_feedback ( feedback_id BIGSERIAL NOT NULL,
  chain_id BIGINT NOT NULL,
  payment_transaction BYTEA NOT NULL,
  payment_log_index INTEGER NOT NULL,
  payment_asset VARCHAR(42) COLLATE "C" NOT NULL,
  payment_amount NUMERIC(78, 0) NOT NULL,
  client VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  task_ref VARCHAR(200) NOT NULL,
  interaction_hash BYTEA NOT NULL,
  content_hash BYTEA NOT NULL,
  proof VARCHAR(7) NOT NULL,
  file VARCHAR(9) NOT NULL,
  feedback_index NUMERIC(78, 0) NOT NULL,
  value NUMERIC(78, 0) NOT NULL,
  value_decimals INTEGER NOT NULL,
  tag1 TEXT NOT NULL,
  tag2 TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  feedback_uri TEXT NOT NULL,
  feedback_hash BYTEA NOT NULL,
  deadline NUMERIC(78, 0) NOT NULL,
  signature BYTEA NOT NULL,
  state VARCHAR(9) NOT NULL,
  account VARCHAR(42) COLLATE "C" NOT NULL,
  nonce BIGINT,
  day INTEGER NOT NULL,
  cost NUMERIC(78, 0) NOT NULL,
  attempts INTEGER NOT NULL,
  next_at FLOAT(53) NOT NULL,
  problem TEXT,
  failure TEXT,
  transaction_hash BYTEA,
  block_number BIGINT,
  gas_used BIGINT,
  accepted_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (feedback_id), UNIQUE (chain_id, account, nonce) );
CREATE INDEX sponsored_feedback_by_agent ON sponsored_feedback (chain_id, agent_id, client);
CREATE INDEX sponsored_feedback_by_client ON sponsored_feedback (client);
CREATE INDEX sponsored_feedback_by_interaction ON sponsored_feedback (interaction_hash);
CREATE UNIQUE INDEX sponsored_feedback_by_payment ON sponsored_feedback (chain_id, payment_transaction, payment_log_index, client) WHERE state != 'failed';
CREATE INDEX sponsored_feedback_by_state ON sponsored_feedback (chain_id, account, state);
CREATE INDEX sponsored_feedback_by_transaction ON sponsored_feedback (payment_transaction);
CREATE TABLE sponsored_transaction ( transaction_hash BYTEA NOT NULL,
  feedback_id BIGINT NOT NULL,
  nonce BIGINT NOT NULL,
  raw BYTEA NOT NULL,
  fees TEXT NOT NULL,
  is_empty BOOLEAN NOT NULL,
  signed_at FLOAT(53) NOT NULL,
  PRIMARY KEY (transaction_hash),
  FOREIGN KEY(feedback_id) REFERENCES sponsored_feedback (feedback_id) );
CREATE INDEX sponsored_transaction_by_feedback ON sponsored_transaction (feedback_id);
CREATE TABLE standing ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  side VARCHAR(6) NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  status VARCHAR(9) NOT NULL,
  rank FLOAT(53),
  rating FLOAT(53),
  lower_bound FLOAT(53) NOT NULL,
  upper_bound FLOAT(53) NOT NULL,
  effective_raters FLOAT(53) NOT NULL,
  raters BIGINT NOT NULL,
  payments BIGINT NOT NULL,
  paid FLOAT(53) NOT NULL,
  first_at BIGINT,
  last_at BIGINT,
  evidence_cost FLOAT(53) NOT NULL,
  reasons TEXT NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, side, agent_id) );
CREATE INDEX standing_by_rank ON standing (chain_id, side, rank DESC, identity_registry, agent_id);
CREATE TABLE standing_refresh ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  block_number BIGINT,
  made_at BIGINT,
  seconds FLOAT(53),
  problem TEXT,
  problem_at BIGINT,
  PRIMARY KEY (chain_id, identity_registry) );
CREATE TABLE successor_nominated ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  role BIGINT NOT NULL,
  holder VARCHAR(42) COLLATE "C" NOT NULL,
  nominee VARCHAR(42) COLLATE "C" NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE TABLE summary ( chain_id BIGINT NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  side VARCHAR(9) COLLATE "C" NOT NULL,
  tag TEXT COLLATE "C" NOT NULL,
  count BIGINT NOT NULL,
  counterparts BIGINT NOT NULL,
  value_sum NUMERIC(78, 0) NOT NULL,
  share_sum BIGINT NOT NULL,
  mean FLOAT(53) NOT NULL,
  lower_bound FLOAT(53),
  PRIMARY KEY (chain_id, registry, agent_id, side, tag) ) PARTITION BY LIST (chain_id);
CREATE INDEX summary_by_lower_bound ON summary (chain_id, side, tag, lower_bound, registry, agent_id, count, counterparts, mean);
CREATE TABLE suspicion ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  account VARCHAR(42) COLLATE "C" NOT NULL,
  suspicion FLOAT(53) NOT NULL,
  cluster BIGINT,
  is_flagged BOOLEAN NOT NULL,
  trust FLOAT(53),
  parts TEXT NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, account) );
CREATE TABLE tier_list ( chain_id BIGINT NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  policy TEXT NOT NULL,
  epoch BIGINT NOT NULL,
  made_at BIGINT NOT NULL,
  roots BYTEA NOT NULL,
  sizes TEXT NOT NULL,
  document BYTEA NOT NULL,
  PRIMARY KEY (chain_id, registry, policy, epoch) );
CREATE TABLE tier_member ( policy TEXT NOT NULL,
  buyer VARCHAR(42) COLLATE "C" NOT NULL,
  from_epoch BIGINT NOT NULL,
  commitment BYTEA NOT NULL,
  payments_chain_id BIGINT NOT NULL,
  signature BYTEA NOT NULL,
  PRIMARY KEY (policy, buyer, from_epoch), CONSTRAINT tier_member_by_commitment UNIQUE (policy, commitment) );
CREATE TABLE tier_roots_posted ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  epoch NUMERIC(78, 0) NOT NULL,
  policy BYTEA NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE TABLE transfer ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  from_address VARCHAR(42) COLLATE "C" NOT NULL,
  to_address VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX transfer_by_agent ON transfer (chain_id, registry, agent_id);
CREATE INDEX transfer_by_receiver ON transfer (chain_id, registry, to_address);
CREATE TABLE trust_score ( chain_id BIGINT NOT NULL,
  identity_registry VARCHAR(42) COLLATE "C" NOT NULL,
  side VARCHAR(9) NOT NULL,
  subject VARCHAR(78) NOT NULL,
  score FLOAT(53),
  low FLOAT(53),
  high FLOAT(53),
  lower_bound FLOAT(53),
  raters BIGINT NOT NULL,
  effective FLOAT(53) NOT NULL,
  removed FLOAT(53) NOT NULL,
  status VARCHAR(20) NOT NULL,
  abstains BOOLEAN NOT NULL,
  PRIMARY KEY (chain_id, identity_registry, side, subject) );
CREATE INDEX trust_score_by_lower_bound ON trust_score (chain_id, side, lower_bound);
CREATE TABLE undecodable_log ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  topics BYTEA NOT NULL,
  data BYTEA NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE TABLE uri_updated ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  new_uri TEXT NOT NULL,
  updated_by VARCHAR(42) COLLATE "C" NOT NULL,
  raw_data BYTEA,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX uri_updated_by_agent ON uri_updated (chain_id, registry, agent_id);
CREATE TABLE validation_request ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  validator_address VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  request_uri TEXT NOT NULL,
  request_hash BYTEA NOT NULL,
  raw_data BYTEA,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX validation_request_by_agent ON validation_request (chain_id, registry, agent_id);
CREATE INDEX validation_request_by_subject ON validation_request (chain_id, registry, request_hash);
CREATE INDEX validation_request_by_validator ON validation_request (chain_id, validator_address);
CREATE TABLE validation_response ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  validator_address VARCHAR(42) COLLATE "C" NOT NULL,
  agent_id NUMERIC(78, 0) NOT NULL,
  request_hash BYTEA NOT NULL,
  response BIGINT NOT NULL,
  response_uri TEXT NOT NULL,
  response_hash BYTEA NOT NULL,
  tag TEXT NOT NULL,
  raw_data BYTEA,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX validation_response_by_agent ON validation_response (chain_id, registry, agent_id);
CREATE INDEX validation_response_by_subject ON validation_response (chain_id, registry, request_hash);
CREATE TABLE validator_rated ( chain_id BIGINT NOT NULL,
  block_number BIGINT NOT NULL,
  log_index INTEGER NOT NULL,
  block_hash BYTEA NOT NULL,
  block_time BIGINT NOT NULL,
  transaction_hash BYTEA NOT NULL,
  registry VARCHAR(42) COLLATE "C" NOT NULL,
  validator_id NUMERIC(78, 0) NOT NULL,
  server_id NUMERIC(78, 0) NOT NULL,
  rating BIGINT NOT NULL,
  PRIMARY KEY (chain_id, block_number, log_index) ) PARTITION BY LIST (chain_id);
CREATE INDEX validator_rated_by_server ON validator_rated (chain_id, registry, server_id, validator_id);
CREATE INDEX validator_rated_by_subject ON validator_rated (chain_id, registry, validator_id, server_id);
CREATE TABLE webhook ( id VARCHAR(35) NOT NULL,
  owner VARCHAR(64) NOT NULL,
  url TEXT NOT NULL,
  wanted TEXT NOT NULL,
  since VARCHAR(60) NOT NULL,
  pending VARCHAR(60),
  created_at BIGINT NOT NULL,
  next_at BIGINT NOT NULL,
  failures INTEGER NOT NULL,
  failing_since BIGINT,
  stopped_at BIGINT,
  problem TEXT,
  delivered BIGINT NOT NULL,
  failed BIGINT NOT NULL,
  PRIMARY KEY (id) );
CREATE INDEX webhook_by_owner ON webhook (owner);
CREATE TABLE webhook_lease ( id INTEGER NOT NULL,
  holder VARCHAR(32) NOT NULL,
  until BIGINT NOT NULL,
  PRIMARY KEY (id) );
CREATE TABLE word_trigram ( trigram VARCHAR(3) NOT NULL,
  word VARCHAR(40) NOT NULL,
  PRIMARY KEY (trigram, word) );
