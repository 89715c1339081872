-- agents: 
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT chain.chain_id
  FROM chain
SELECT standing.side
  FROM standing
  WHERE standing.chain_id = 31337
  AND standing.side = 'server' LIMIT 1 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, 0 AS relevance, 0.5 AS first_rank, standing.rank AS second_rank
  FROM agent, standing
  WHERE standing.chain_id = 31337
  AND standing.rank IS NOT NULL
  AND standing.side = 'server'
  AND agent.chain_id = standing.chain_id
  AND agent.identity_registry = standing.identity_registry
  AND agent.agent_id = +standing.agent_id
  ORDER BY standing.rank DESC, standing.identity_registry, standing.agent_id LIMIT 21 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (1, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24)
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (1, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 24)
  AND standing.side = 'server'

-- agents: q=weather
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT k, v
  FROM 'main'.'agent_words_config'
SELECT rowid
  FROM agent_words
  WHERE agent_words MATCH 'words : ("weather"*)' LIMIT 1 OFFSET 0
SELECT count(*) AS count_1
  FROM (SELECT rowid
  FROM agent_words
  WHERE agent_words MATCH 'words : ("weather"*)' LIMIT 1001 OFFSET 0) AS anon_1
SELECT chain.chain_id
  FROM chain
SELECT standing.side
  FROM standing
  WHERE standing.chain_id = 31337
  AND standing.side = 'server' LIMIT 1 OFFSET 0
SELECT anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id, anon_1.relevance, anon_1.first_rank, anon_1.second_rank
  FROM (SELECT agent.chain_id AS chain_id, agent.identity_registry AS identity_registry, agent.agent_id AS agent_id, 0 + CASE WHEN (instr(' ' || registration_words.name_words, ' weather') > 0) THEN 1 ELSE 0 END AS relevance, CAST(0 + CASE WHEN (instr(' ' || registration_words.name_words, ' weather') > 0) THEN 1 ELSE 0 END AS FLOAT) + CAST(CASE WHEN (standing.rank IS NOT NULL) THEN 0.5 WHEN (standing.agent_id IS NULL) THEN 0.0 ELSE -100.0 END AS FLOAT) AS first_rank, CASE WHEN (standing.rank IS NOT NULL) THEN standing.rank ELSE 0.0 END AS second_rank
  FROM agent
  JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  JOIN file ON file.file_id = agent_file.file_id
  AND +file.state = 'loaded'
  JOIN registration_words ON registration_words.content_hash = file.content_hash
  LEFT OUTER JOIN standing ON standing.side = 'server'
  AND agent.chain_id = standing.chain_id
  AND agent.identity_registry = standing.identity_registry
  AND agent.agent_id = standing.agent_id
  WHERE +agent.chain_id IN (31337)
  AND registration_words.document_id IN (SELECT rowid
  FROM agent_words
  WHERE agent_words MATCH 'words : ("weather"*)') LIMIT -1 OFFSET 0) AS anon_1
  ORDER BY anon_1.first_rank DESC, anon_1.second_rank DESC, anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id LIMIT 21 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (3, 10, 17, 25, 31, 31, 31, 31)
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (3, 10, 17, 25, 31)
  AND standing.side = 'server'

-- agents: q=wether+orakle
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT rowid
  FROM agent_words
  WHERE agent_words MATCH 'words : ("wether"*)' LIMIT 1 OFFSET 0
SELECT anon_1.word, anon_1.common, known_word.trigrams
  FROM (SELECT word_trigram.word AS word, count(*) AS common
  FROM word_trigram
  WHERE word_trigram.trigram IN (' w', ' we', 'er ', 'eth', 'her', 'the', 'wet')
  GROUP BY word_trigram.word HAVING count(*) >= 2.1) AS anon_1
  JOIN known_word ON known_word.word = anon_1.word
SELECT rowid
  FROM agent_words
  WHERE agent_words MATCH 'words : ("orakle"*)' LIMIT 1 OFFSET 0
SELECT anon_1.word, anon_1.common, known_word.trigrams
  FROM (SELECT word_trigram.word AS word, count(*) AS common
  FROM word_trigram
  WHERE word_trigram.trigram IN (' o', ' or', 'akl', 'kle', 'le ', 'ora', 'rak')
  GROUP BY word_trigram.word HAVING count(*) >= 2.1) AS anon_1
  JOIN known_word ON known_word.word = anon_1.word
SELECT count(*) AS count_1
  FROM (SELECT rowid
  FROM agent_words
  WHERE agent_words MATCH 'words : ("weather")
  AND words : ("oracle")' LIMIT 1001 OFFSET 0) AS anon_1
SELECT chain.chain_id
  FROM chain
SELECT standing.side
  FROM standing
  WHERE standing.chain_id = 31337
  AND standing.side = 'server' LIMIT 1 OFFSET 0
SELECT anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id, anon_1.relevance, anon_1.first_rank, anon_1.second_rank
  FROM (SELECT agent.chain_id AS chain_id, agent.identity_registry AS identity_registry, agent.agent_id AS agent_id, 0 + CASE WHEN (instr(' ' || registration_words.name_words || ' ', ' weather ') > 0) THEN 1 ELSE 0 END + CASE WHEN (instr(' ' || registration_words.name_words || ' ', ' oracle ') > 0) THEN 1 ELSE 0 END AS relevance, CAST(0 + CASE WHEN (instr(' ' || registration_words.name_words || ' ', ' weather ') > 0) THEN 1 ELSE 0 END + CASE WHEN (instr(' ' || registration_words.name_words || ' ', ' oracle ') > 0) THEN 1 ELSE 0 END AS FLOAT) + CAST(CASE WHEN (standing.rank IS NOT NULL) THEN 0.5 WHEN (standing.agent_id IS NULL) THEN 0.0 ELSE -100.0 END AS FLOAT) AS first_rank, CASE WHEN (standing.rank IS NOT NULL) THEN standing.rank ELSE 0.0 END AS second_rank
  FROM agent
  JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  JOIN file ON file.file_id = agent_file.file_id
  AND +file.state = 'loaded'
  JOIN registration_words ON registration_words.content_hash = file.content_hash
  LEFT OUTER JOIN standing ON standing.side = 'server'
  AND agent.chain_id = standing.chain_id
  AND agent.identity_registry = standing.identity_registry
  AND agent.agent_id = standing.agent_id
  WHERE +agent.chain_id IN (31337)
  AND registration_words.document_id IN (SELECT rowid
  FROM agent_words
  WHERE agent_words MATCH 'words : ("weather")
  AND words : ("oracle")') LIMIT -1 OFFSET 0) AS anon_1
  ORDER BY anon_1.first_rank DESC, anon_1.second_rank DESC, anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id LIMIT 21 OFFSET 0
SELECT chain.chain_id
  FROM chain
SELECT registration_vector.vector_id
  FROM registration_vector
  WHERE registration_vector.vector_id > -1
  ORDER BY registration_vector.vector_id
SELECT registration_vector.vector_id, registration_vector.words, registration_vector.model, registration_vector.vector
  FROM registration_vector
  WHERE registration_vector.vector_id BETWEEN 1
  AND 35
  ORDER BY registration_vector.vector_id
SELECT 0 AS anon_1, registration_vector.vector_id
  FROM (SELECT rowid
  FROM agent_words
  WHERE agent_words MATCH 'words : ("wether")' LIMIT 11 OFFSET 0) AS anon_2
  JOIN registration_words ON registration_words.document_id = anon_2.rowid
  JOIN registration_vector ON registration_vector.content_hash = registration_words.content_hash UNION ALL SELECT 1 AS anon_3, registration_vector.vector_id
  FROM (SELECT rowid
  FROM agent_words
  WHERE agent_words MATCH 'words : ("orakle")' LIMIT 11 OFFSET 0) AS anon_4
  JOIN registration_words ON registration_words.document_id = anon_4.rowid
  JOIN registration_vector ON registration_vector.content_hash = registration_words.content_hash

-- agents: q=market+trading&order=relevance
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT rowid
  FROM agent_words
  WHERE agent_words MATCH 'words : ("market"*)' LIMIT 1 OFFSET 0
SELECT rowid
  FROM agent_words
  WHERE agent_words MATCH 'words : ("trading"*)' LIMIT 1 OFFSET 0
SELECT count(*) AS count_1
  FROM (SELECT rowid
  FROM agent_words
  WHERE agent_words MATCH 'words : ("market"*)
  AND words : ("trading"*)' LIMIT 1001 OFFSET 0) AS anon_1
SELECT chain.chain_id
  FROM chain
SELECT anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id, anon_1.relevance, anon_1.first_rank, anon_1.second_rank
  FROM (SELECT agent.chain_id AS chain_id, agent.identity_registry AS identity_registry, agent.agent_id AS agent_id, 0 + CASE WHEN (instr(' ' || registration_words.name_words, ' market') > 0) THEN 1 ELSE 0 END + CASE WHEN (instr(' ' || registration_words.name_words, ' trading') > 0) THEN 1 ELSE 0 END AS relevance, CAST(0 + CASE WHEN (instr(' ' || registration_words.name_words, ' market') > 0) THEN 1 ELSE 0 END + CASE WHEN (instr(' ' || registration_words.name_words, ' trading') > 0) THEN 1 ELSE 0 END AS FLOAT) AS first_rank, 0.0 AS second_rank
  FROM agent
  JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  JOIN file ON file.file_id = agent_file.file_id
  AND +file.state = 'loaded'
  JOIN registration_words ON registration_words.content_hash = file.content_hash
  WHERE +agent.chain_id IN (31337)
  AND registration_words.document_id IN (SELECT rowid
  FROM agent_words
  WHERE agent_words MATCH 'words : ("market"*)
  AND words : ("trading"*)') LIMIT -1 OFFSET 0) AS anon_1
  ORDER BY anon_1.first_rank DESC, anon_1.second_rank DESC, anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id LIMIT 21 OFFSET 0

-- agents: q=chess&tag=starred&minimum=50
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT rowid
  FROM agent_words
  WHERE agent_words MATCH 'words : ("chess"*)' LIMIT 1 OFFSET 0
SELECT count(*) AS count_1
  FROM (SELECT rowid
  FROM agent_words
  WHERE agent_words MATCH 'words : ("chess"*)' LIMIT 1001 OFFSET 0) AS anon_1
SELECT chain.chain_id
  FROM chain
SELECT standing.side
  FROM standing
  WHERE standing.chain_id = 31337
  AND standing.side = 'server' LIMIT 1 OFFSET 0
SELECT anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id, anon_1.relevance, anon_1.first_rank, anon_1.second_rank
  FROM (SELECT agent.chain_id AS chain_id, agent.identity_registry AS identity_registry, agent.agent_id AS agent_id, 0 + CASE WHEN (instr(' ' || registration_words.name_words, ' chess') > 0) THEN 1 ELSE 0 END AS relevance, CAST(0 + CASE WHEN (instr(' ' || registration_words.name_words, ' chess') > 0) THEN 1 ELSE 0 END AS FLOAT) + CAST(CASE WHEN (standing.rank IS NOT NULL) THEN 0.5 WHEN (standing.agent_id IS NULL) THEN 0.0 ELSE -100.0 END AS FLOAT) AS first_rank, CASE WHEN (standing.rank IS NOT NULL) THEN standing.rank ELSE 0.0 END AS second_rank
  FROM agent
  JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  JOIN file ON file.file_id = agent_file.file_id
  AND +file.state = 'loaded'
  JOIN registration_words ON registration_words.content_hash = file.content_hash
  LEFT OUTER JOIN standing ON standing.side = 'server'
  AND agent.chain_id = standing.chain_id
  AND agent.identity_registry = standing.identity_registry
  AND agent.agent_id = standing.agent_id
  WHERE (SELECT max(coalesce(summary.lower_bound, -1.0)) AS max_1
  FROM summary, registry
  WHERE registry.chain_id = agent.chain_id
  AND registry.identity_registry = agent.identity_registry
  AND registry.kind IN ('ReputationRegistry', 'BidirectionalReputationRegistry', 'AuthorizedReputationRegistry')
  AND summary.chain_id = agent.chain_id
  AND summary.registry = +registry.address
  AND summary.agent_id = agent.agent_id
  AND summary.side = 'server'
  AND summary.tag = 'starred'
  AND summary.mean >= 50.0) IS NOT NULL
  AND +agent.chain_id IN (31337)
  AND registration_words.document_id IN (SELECT rowid
  FROM agent_words
  WHERE agent_words MATCH 'words : ("chess"*)') LIMIT -1 OFFSET 0) AS anon_1
  ORDER BY anon_1.first_rank DESC, anon_1.second_rank DESC, anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id LIMIT 21 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (20, 34)
SELECT DISTINCT registry.address
  FROM registry
  WHERE registry.chain_id IN (31337)
  AND registry.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
SELECT summary.chain_id, registry.identity_registry, summary.agent_id, summary.registry, summary.tag, summary.count, summary.counterparts, summary.mean, summary.lower_bound
  FROM summary, registry
  WHERE registry.chain_id = summary.chain_id
  AND registry.address = summary.registry
  AND summary.side = 'server'
  AND summary.tag = 'starred'
  AND summary.chain_id IN (31337)
  AND summary.registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1', '0xE5e5E5E5e5e5E5E5E5E5e5E5e5e5e5E5e5e5e5e5', '0xb2b2b2b2b2B2b2B2B2b2b2B2B2b2B2B2b2b2b2b2', '0xc3c3c3c3c3c3c3c3c3C3C3c3C3C3C3c3C3C3c3c3', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4')
  AND summary.agent_id IN (20, 34)
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (20, 34)
  AND standing.side = 'server'

-- agents: tag=starred&lower_bound=60&order=lower_bound
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT chain.chain_id
  FROM chain
SELECT count(*) AS count_1
  FROM (SELECT 1 AS one
  FROM summary
  WHERE summary.chain_id = 31337
  AND summary.side = 'server'
  AND summary.tag = 'starred'
  AND summary.lower_bound >= 60.0
  ORDER BY summary.lower_bound DESC LIMIT 2001 OFFSET 0) AS anon_1
SELECT anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id, anon_1.relevance, anon_1.first_rank, anon_1.second_rank
  FROM (SELECT agent.chain_id AS chain_id, agent.identity_registry AS identity_registry, agent.agent_id AS agent_id, 0 AS relevance, CAST(anon_2.rank AS FLOAT) AS first_rank, 0.0 AS second_rank
  FROM agent
  JOIN (SELECT anon_3.chain_id AS chain_id, anon_3.identity_registry AS identity_registry, anon_3.agent_id AS agent_id, max(coalesce(anon_3.lower_bound, -1.0)) AS rank
  FROM (SELECT summary.chain_id AS chain_id, registry.identity_registry AS identity_registry, summary.agent_id AS agent_id, summary.registry AS registry, summary.tag AS tag, summary.count AS count, summary.counterparts AS counterparts, summary.mean AS mean, summary.lower_bound AS lower_bound
  FROM summary, registry
  WHERE registry.chain_id = summary.chain_id
  AND registry.address = summary.registry
  AND summary.tag = 'starred'
  AND summary.side = 'server'
  AND summary.chain_id IN (31337)
  AND +summary.lower_bound >= 60.0
  AND summary.lower_bound >= 60.0) AS anon_3
  GROUP BY anon_3.chain_id, anon_3.identity_registry, anon_3.agent_id) AS anon_2 ON anon_2.chain_id = agent.chain_id
  AND anon_2.identity_registry = agent.identity_registry
  AND anon_2.agent_id = agent.agent_id
  WHERE +agent.chain_id IN (31337) LIMIT -1 OFFSET 0) AS anon_1
  ORDER BY anon_1.first_rank DESC, anon_1.second_rank DESC, anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id LIMIT 21 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (1, 2, 3, 37)
SELECT DISTINCT registry.address
  FROM registry
  WHERE registry.chain_id IN (31337)
  AND registry.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
SELECT summary.chain_id, registry.identity_registry, summary.agent_id, summary.registry, summary.tag, summary.count, summary.counterparts, summary.mean, summary.lower_bound
  FROM summary, registry
  WHERE registry.chain_id = summary.chain_id
  AND registry.address = summary.registry
  AND summary.side = 'server'
  AND summary.tag = 'starred'
  AND summary.chain_id IN (31337)
  AND summary.registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1', '0xE5e5E5E5e5e5E5E5E5E5e5E5e5e5e5E5e5e5e5e5', '0xb2b2b2b2b2B2b2B2B2b2b2B2B2b2B2B2b2b2b2b2', '0xc3c3c3c3c3c3c3c3c3C3C3c3C3C3C3c3C3C3c3c3', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4')
  AND summary.agent_id IN (1, 2, 3, 37)
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (1, 2, 3, 37)
  AND standing.side = 'server'

-- agents: tag=starred&count=3&clients=2&order=mean
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT chain.chain_id
  FROM chain
SELECT anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id, anon_1.relevance, anon_1.first_rank, anon_1.second_rank
  FROM (SELECT agent.chain_id AS chain_id, agent.identity_registry AS identity_registry, agent.agent_id AS agent_id, 0 AS relevance, CAST(anon_2.rank AS FLOAT) AS first_rank, 0.0 AS second_rank
  FROM agent
  JOIN (SELECT anon_3.chain_id AS chain_id, anon_3.identity_registry AS identity_registry, anon_3.agent_id AS agent_id, max(CAST(anon_3.mean AS FLOAT)) AS rank
  FROM (SELECT summary.chain_id AS chain_id, registry.identity_registry AS identity_registry, summary.agent_id AS agent_id, summary.registry AS registry, summary.tag AS tag, summary.count AS count, summary.counterparts AS counterparts, summary.mean AS mean, summary.lower_bound AS lower_bound
  FROM summary, registry
  WHERE registry.chain_id = summary.chain_id
  AND registry.address = summary.registry
  AND summary.tag = 'starred'
  AND summary.side = 'server'
  AND summary.chain_id IN (31337)
  AND summary.count >= 3
  AND summary.counterparts >= 2) AS anon_3
  GROUP BY anon_3.chain_id, anon_3.identity_registry, anon_3.agent_id) AS anon_2 ON anon_2.chain_id = agent.chain_id
  AND anon_2.identity_registry = agent.identity_registry
  AND anon_2.agent_id = agent.agent_id
  WHERE +agent.chain_id IN (31337) LIMIT -1 OFFSET 0) AS anon_1
  ORDER BY anon_1.first_rank DESC, anon_1.second_rank DESC, anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id LIMIT 21 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 22, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37)
SELECT DISTINCT registry.address
  FROM registry
  WHERE registry.chain_id IN (31337)
  AND registry.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
SELECT summary.chain_id, registry.identity_registry, summary.agent_id, summary.registry, summary.tag, summary.count, summary.counterparts, summary.mean, summary.lower_bound
  FROM summary, registry
  WHERE registry.chain_id = summary.chain_id
  AND registry.address = summary.registry
  AND summary.side = 'server'
  AND summary.tag = 'starred'
  AND summary.chain_id IN (31337)
  AND summary.registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1', '0xE5e5E5E5e5e5E5E5E5E5e5E5e5e5e5E5e5e5e5e5', '0xb2b2b2b2b2B2b2B2B2b2b2B2B2b2B2B2b2b2b2b2', '0xc3c3c3c3c3c3c3c3c3C3C3c3C3C3C3c3C3C3c3c3', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4')
  AND summary.agent_id IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 22, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37)
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 22, 37)
  AND standing.side = 'server'

-- agents: tag=starred&maximum=80&order=activity
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT chain.chain_id
  FROM chain
SELECT anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id, anon_1.relevance, anon_1.first_rank, anon_1.second_rank
  FROM (SELECT agent.chain_id AS chain_id, agent.identity_registry AS identity_registry, agent.agent_id AS agent_id, 0 AS relevance, CAST(anon_2.rank AS FLOAT) AS first_rank, 0.0 AS second_rank
  FROM agent
  JOIN (SELECT anon_3.chain_id AS chain_id, anon_3.identity_registry AS identity_registry, anon_3.agent_id AS agent_id, max(CAST(anon_3.count AS FLOAT)) AS rank
  FROM (SELECT summary.chain_id AS chain_id, registry.identity_registry AS identity_registry, summary.agent_id AS agent_id, summary.registry AS registry, summary.tag AS tag, summary.count AS count, summary.counterparts AS counterparts, summary.mean AS mean, summary.lower_bound AS lower_bound
  FROM summary, registry
  WHERE registry.chain_id = summary.chain_id
  AND registry.address = summary.registry
  AND summary.tag = 'starred'
  AND summary.side = 'server'
  AND summary.chain_id IN (31337)
  AND summary.mean <= 80.0) AS anon_3
  GROUP BY anon_3.chain_id, anon_3.identity_registry, anon_3.agent_id) AS anon_2 ON anon_2.chain_id = agent.chain_id
  AND anon_2.identity_registry = agent.identity_registry
  AND anon_2.agent_id = agent.agent_id
  WHERE +agent.chain_id IN (31337) LIMIT -1 OFFSET 0) AS anon_1
  ORDER BY anon_1.first_rank DESC, anon_1.second_rank DESC, anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id LIMIT 21 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 21, 22, 23, 24, 25, 27, 28, 31, 33, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34)
SELECT DISTINCT registry.address
  FROM registry
  WHERE registry.chain_id IN (31337)
  AND registry.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
SELECT summary.chain_id, registry.identity_registry, summary.agent_id, summary.registry, summary.tag, summary.count, summary.counterparts, summary.mean, summary.lower_bound
  FROM summary, registry
  WHERE registry.chain_id = summary.chain_id
  AND registry.address = summary.registry
  AND summary.side = 'server'
  AND summary.tag = 'starred'
  AND summary.chain_id IN (31337)
  AND summary.registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1', '0xE5e5E5E5e5e5E5E5E5E5e5E5e5e5e5E5e5e5e5e5', '0xb2b2b2b2b2B2b2B2B2b2b2B2B2b2B2B2b2b2b2b2', '0xc3c3c3c3c3c3c3c3c3C3C3c3C3C3C3c3C3C3c3c3', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4')
  AND summary.agent_id IN (9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 21, 22, 23, 24, 25, 27, 28, 31, 33, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34)
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 21, 22, 23, 24, 25, 27, 28, 31, 33, 34)
  AND standing.side = 'server'

-- agents: tag=uptime&minimum=10&reviewer=CLIENT
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT chain.chain_id
  FROM chain
SELECT standing.side
  FROM standing
  WHERE standing.chain_id = 31337
  AND standing.side = 'server' LIMIT 1 OFFSET 0
SELECT anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id, anon_1.relevance, anon_1.first_rank, anon_1.second_rank
  FROM (SELECT agent.chain_id AS chain_id, agent.identity_registry AS identity_registry, agent.agent_id AS agent_id, 0 AS relevance, CAST(0 AS FLOAT) + CAST(CASE WHEN (standing.rank IS NOT NULL) THEN 0.5 WHEN (standing.agent_id IS NULL) THEN 0.0 ELSE -100.0 END AS FLOAT) AS first_rank, CASE WHEN (standing.rank IS NOT NULL) THEN standing.rank ELSE 0.0 END AS second_rank
  FROM agent
  JOIN (SELECT anon_3.chain_id AS chain_id, anon_3.identity_registry AS identity_registry, anon_3.agent_id AS agent_id, max(coalesce(anon_3.lower_bound, -1.0)) AS rank
  FROM (SELECT counterpart.chain_id AS chain_id, registry.identity_registry AS identity_registry, counterpart.agent_id AS agent_id, counterpart.registry AS registry, counterpart.tag AS tag, sum(counterpart.count) AS count, count(*) AS counterparts, (sum(CAST(counterpart.unit_sum AS FLOAT)) / (1000000 + 0.0)) / (sum(counterpart.count) + 0.0) AS mean, CASE WHEN (counterpart.tag = 'reachable') THEN 0.0 + CASE WHEN (((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) > 0) THEN ((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) ELSE 0.0 END * 1 WHEN (counterpart.tag = 'ownerVerified') THEN 0.0 + CASE WHEN (((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) > 0) THEN ((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) ELSE 0.0 END * 1 WHEN (counterpart.tag = 'responseTime') THEN NULL WHEN (counterpart.tag = 'blocktimeFreshness') THEN NULL WHEN (counterpart.tag = 'revenues') THEN NULL WHEN (counterpart.tag = 'tradingYield') THEN NULL ELSE 0.0 + CASE WHEN (((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) > 0) THEN ((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) ELSE 0.0 END * 100 END AS lower_bound
  FROM counterpart, registry, (SELECT DISTINCT new_feedback.chain_id AS chain_id, new_feedback.registry AS registry, new_feedback.agent_id AS agent_id
  FROM new_feedback INDEXED BY new_feedback_by_client
  WHERE new_feedback.chain_id IN (31337)
  AND new_feedback.client_address IN ('0x00000000000000000000000000000000000000C8') UNION SELECT DISTINCT new_authorized_feedback.chain_id AS chain_id, new_authorized_feedback.registry AS registry, new_authorized_feedback.agent_id AS agent_id
  FROM new_authorized_feedback INDEXED BY new_authorized_feedback_by_client
  WHERE new_authorized_feedback.chain_id IN (31337)
  AND new_authorized_feedback.client_address IN ('0x00000000000000000000000000000000000000C8')) AS anon_4
  WHERE registry.chain_id = counterpart.chain_id
  AND registry.address = counterpart.registry
  AND counterpart.tag = 'uptime'
  AND counterpart.side = 'server'
  AND counterpart.account IN ('0x00000000000000000000000000000000000000C8')
  AND +counterpart.chain_id IN (31337)
  AND counterpart.chain_id = anon_4.chain_id
  AND counterpart.registry = anon_4.registry
  AND counterpart.agent_id = anon_4.agent_id
  GROUP BY counterpart.chain_id, registry.identity_registry, counterpart.agent_id, counterpart.registry, counterpart.tag HAVING (sum(CAST(counterpart.unit_sum AS FLOAT)) / (1000000 + 0.0)) / (sum(counterpart.count) + 0.0) >= 10.0) AS anon_3
  GROUP BY anon_3.chain_id, anon_3.identity_registry, anon_3.agent_id) AS anon_2 ON anon_2.chain_id = agent.chain_id
  AND anon_2.identity_registry = agent.identity_registry
  AND anon_2.agent_id = agent.agent_id
  LEFT OUTER JOIN standing ON standing.side = 'server'
  AND agent.chain_id = standing.chain_id
  AND agent.identity_registry = standing.identity_registry
  AND agent.agent_id = standing.agent_id
  WHERE +agent.chain_id IN (31337) LIMIT -1 OFFSET 0) AS anon_1
  ORDER BY anon_1.first_rank DESC, anon_1.second_rank DESC, anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id LIMIT 21 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (8, 14, 17, 19)
SELECT DISTINCT registry.address
  FROM registry
  WHERE registry.chain_id IN (31337)
  AND registry.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
SELECT counterpart.chain_id, registry.identity_registry, counterpart.agent_id, counterpart.registry, counterpart.tag, sum(counterpart.count) AS count, count(*) AS counterparts, (sum(CAST(counterpart.unit_sum AS FLOAT)) / (1000000 + 0.0)) / (sum(counterpart.count) + 0.0) AS mean, CASE WHEN (counterpart.tag = 'reachable') THEN 0.0 + CASE WHEN (((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) > 0) THEN ((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) ELSE 0.0 END * 1 WHEN (counterpart.tag = 'ownerVerified') THEN 0.0 + CASE WHEN (((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) > 0) THEN ((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) ELSE 0.0 END * 1 WHEN (counterpart.tag = 'responseTime') THEN NULL WHEN (counterpart.tag = 'blocktimeFreshness') THEN NULL WHEN (counterpart.tag = 'revenues') THEN NULL WHEN (counterpart.tag = 'tradingYield') THEN NULL ELSE 0.0 + CASE WHEN (((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) > 0) THEN ((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(counterpart.share_sum / counterpart.count) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) ELSE 0.0 END * 100 END AS lower_bound
  FROM counterpart, registry
  WHERE registry.chain_id = counterpart.chain_id
  AND registry.address = counterpart.registry
  AND counterpart.tag = 'uptime'
  AND counterpart.side = 'server'
  AND counterpart.account IN ('0x00000000000000000000000000000000000000C8')
  AND counterpart.chain_id IN (31337)
  AND counterpart.registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1', '0xE5e5E5E5e5e5E5E5E5E5e5E5e5e5e5E5e5e5e5e5', '0xb2b2b2b2b2B2b2B2B2b2b2B2B2b2B2B2b2b2b2b2', '0xc3c3c3c3c3c3c3c3c3C3C3c3C3C3C3c3C3C3c3c3', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4')
  AND counterpart.agent_id IN (8, 14, 17, 19)
  GROUP BY counterpart.chain_id, registry.identity_registry, counterpart.agent_id, counterpart.registry, counterpart.tag HAVING (sum(CAST(counterpart.unit_sum AS FLOAT)) / (1000000 + 0.0)) / (sum(counterpart.count) + 0.0) >= 10.0
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (8, 14, 17, 19)
  AND standing.side = 'server'

-- agents: side=client&minimum=30
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT chain.chain_id
  FROM chain
SELECT standing.side
  FROM standing
  WHERE standing.chain_id = 31337
  AND standing.side = 'client' LIMIT 1 OFFSET 0
SELECT anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id, anon_1.relevance, anon_1.first_rank, anon_1.second_rank
  FROM (SELECT agent.chain_id AS chain_id, agent.identity_registry AS identity_registry, agent.agent_id AS agent_id, 0 AS relevance, CAST(0 AS FLOAT) + CAST(CASE WHEN (standing.rank IS NOT NULL) THEN 0.5 WHEN (standing.agent_id IS NULL) THEN 0.0 ELSE -100.0 END AS FLOAT) AS first_rank, CASE WHEN (standing.rank IS NOT NULL) THEN standing.rank ELSE 0.0 END AS second_rank
  FROM agent
  JOIN (SELECT anon_3.chain_id AS chain_id, anon_3.identity_registry AS identity_registry, anon_3.agent_id AS agent_id, max(coalesce(anon_3.lower_bound, -1.0)) AS rank
  FROM (SELECT summary.chain_id AS chain_id, registry.identity_registry AS identity_registry, summary.agent_id AS agent_id, summary.registry AS registry, summary.tag AS tag, summary.count AS count, summary.counterparts AS counterparts, summary.mean AS mean, summary.lower_bound AS lower_bound
  FROM summary, registry
  WHERE registry.chain_id = summary.chain_id
  AND registry.address = summary.registry
  AND summary.side = 'client'
  AND summary.chain_id IN (31337)
  AND summary.mean >= 30.0) AS anon_3
  GROUP BY anon_3.chain_id, anon_3.identity_registry, anon_3.agent_id) AS anon_2 ON anon_2.chain_id = agent.chain_id
  AND anon_2.identity_registry = agent.identity_registry
  AND anon_2.agent_id = agent.agent_id
  LEFT OUTER JOIN standing ON standing.side = 'client'
  AND agent.chain_id = standing.chain_id
  AND agent.identity_registry = standing.identity_registry
  AND agent.agent_id = standing.agent_id
  WHERE +agent.chain_id IN (31337) LIMIT -1 OFFSET 0) AS anon_1
  ORDER BY anon_1.first_rank DESC, anon_1.second_rank DESC, anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id LIMIT 21 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (1, 4, 6, 7, 9, 10, 11, 13, 14, 15, 18, 19, 20, 21, 25, 26, 29, 30, 31, 36, 36, 36, 36, 36, 36, 36, 36, 36, 36, 36, 36, 36)
SELECT DISTINCT registry.address
  FROM registry
  WHERE registry.chain_id IN (31337)
  AND registry.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
SELECT summary.chain_id, registry.identity_registry, summary.agent_id, summary.registry, summary.tag, summary.count, summary.counterparts, summary.mean, summary.lower_bound
  FROM summary, registry
  WHERE registry.chain_id = summary.chain_id
  AND registry.address = summary.registry
  AND summary.side = 'client'
  AND summary.chain_id IN (31337)
  AND summary.registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1', '0xE5e5E5E5e5e5E5E5E5E5e5E5e5e5e5E5e5e5e5e5', '0xb2b2b2b2b2B2b2B2B2b2b2B2B2b2B2B2b2b2b2b2', '0xc3c3c3c3c3c3c3c3c3C3C3c3C3C3C3c3C3C3c3c3', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4')
  AND summary.agent_id IN (1, 4, 6, 7, 9, 10, 11, 13, 14, 15, 18, 19, 20, 21, 25, 26, 29, 30, 31, 36)
  AND summary.mean >= 30.0
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (1, 4, 6, 7, 9, 10, 11, 13, 14, 15, 18, 19, 20, 21, 25, 26, 29, 30, 31, 36)
  AND standing.side = 'client'

-- agents: side=validator&minimum=30
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT chain.chain_id
  FROM chain
SELECT standing.side
  FROM standing
  WHERE standing.chain_id = 31337
  AND standing.side = 'validator' LIMIT 1 OFFSET 0
SELECT anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id, anon_1.relevance, anon_1.first_rank, anon_1.second_rank
  FROM (SELECT agent.chain_id AS chain_id, agent.identity_registry AS identity_registry, agent.agent_id AS agent_id, 0 AS relevance, CAST(0 AS FLOAT) + CAST(CASE WHEN (standing.rank IS NOT NULL) THEN 0.5 WHEN (standing.agent_id IS NULL) THEN 0.0 ELSE -100.0 END AS FLOAT) AS first_rank, CASE WHEN (standing.rank IS NOT NULL) THEN standing.rank ELSE 0.0 END AS second_rank
  FROM agent
  JOIN (SELECT anon_3.chain_id AS chain_id, anon_3.identity_registry AS identity_registry, anon_3.agent_id AS agent_id, max(coalesce(anon_3.lower_bound, -1.0)) AS rank
  FROM (SELECT summary.chain_id AS chain_id, registry.identity_registry AS identity_registry, summary.agent_id AS agent_id, summary.registry AS registry, summary.tag AS tag, summary.count AS count, summary.counterparts AS counterparts, summary.mean AS mean, summary.lower_bound AS lower_bound
  FROM summary, registry
  WHERE registry.chain_id = summary.chain_id
  AND registry.address = summary.registry
  AND summary.side = 'validator'
  AND summary.chain_id IN (31337)
  AND summary.mean >= 30.0) AS anon_3
  GROUP BY anon_3.chain_id, anon_3.identity_registry, anon_3.agent_id) AS anon_2 ON anon_2.chain_id = agent.chain_id
  AND anon_2.identity_registry = agent.identity_registry
  AND anon_2.agent_id = agent.agent_id
  LEFT OUTER JOIN standing ON standing.side = 'validator'
  AND agent.chain_id = standing.chain_id
  AND agent.identity_registry = standing.identity_registry
  AND agent.agent_id = standing.agent_id
  WHERE +agent.chain_id IN (31337) LIMIT -1 OFFSET 0) AS anon_1
  ORDER BY anon_1.first_rank DESC, anon_1.second_rank DESC, anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id LIMIT 21 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (5)
SELECT DISTINCT registry.address
  FROM registry
  WHERE registry.chain_id IN (31337)
  AND registry.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
SELECT summary.chain_id, registry.identity_registry, summary.agent_id, summary.registry, summary.tag, summary.count, summary.counterparts, summary.mean, summary.lower_bound
  FROM summary, registry
  WHERE registry.chain_id = summary.chain_id
  AND registry.address = summary.registry
  AND summary.side = 'validator'
  AND summary.chain_id IN (31337)
  AND summary.registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1', '0xE5e5E5E5e5e5E5E5E5E5e5E5e5e5e5E5e5e5e5e5', '0xb2b2b2b2b2B2b2B2B2b2b2B2B2b2B2B2b2b2b2b2', '0xc3c3c3c3c3c3c3c3c3C3C3c3C3C3C3c3C3C3c3c3', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4')
  AND summary.agent_id IN (5)
  AND summary.mean >= 30.0
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (5)
  AND standing.side = 'validator'

-- agents: order=standing&limit=5
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT chain.chain_id
  FROM chain
SELECT standing.side
  FROM standing
  WHERE standing.chain_id = 31337
  AND standing.side = 'server' LIMIT 1 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, 0 AS relevance, 0.5 AS first_rank, standing.rank AS second_rank
  FROM agent, standing
  WHERE standing.chain_id = 31337
  AND standing.rank IS NOT NULL
  AND standing.side = 'server'
  AND agent.chain_id = standing.chain_id
  AND agent.identity_registry = standing.identity_registry
  AND agent.agent_id = +standing.agent_id
  ORDER BY standing.rank DESC, standing.identity_registry, standing.agent_id LIMIT 6 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (1, 3, 4, 5, 7, 7, 7, 7)
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (1, 3, 4, 5, 7)
  AND standing.side = 'server'

-- agents: order=registered&active=true
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT chain.chain_id
  FROM chain
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, 0 AS relevance, CAST(agent.registered_at AS FLOAT) AS first_rank, 0.0 AS second_rank
  FROM agent
  JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  JOIN file ON file.file_id = agent_file.file_id
  AND +file.state = 'loaded'
  JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE registration_file.active IS 1
  AND agent.chain_id = 31337
  AND agent.registered_at <= 4611686018427387904
  ORDER BY agent.registered_at DESC, agent.identity_registry, agent.agent_id LIMIT 21 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (11, 13, 15, 16, 17, 18, 19, 20, 22, 23, 25, 26, 27, 29, 30, 31, 32, 33, 34, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37)
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (11, 13, 15, 16, 17, 18, 19, 20, 22, 23, 25, 26, 27, 29, 30, 31, 32, 33, 34, 37)
  AND standing.side = 'server'

-- agents: order=updated&x402=true
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT chain.chain_id
  FROM chain
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, 0 AS relevance, CAST(agent.updated_at AS FLOAT) AS first_rank, 0.0 AS second_rank
  FROM agent
  JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  JOIN file ON file.file_id = agent_file.file_id
  AND +file.state = 'loaded'
  JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE registration_file.x402_support IS 1
  AND agent.chain_id = 31337
  AND agent.updated_at <= 4611686018427387904
  ORDER BY agent.updated_at DESC, agent.identity_registry, agent.agent_id LIMIT 21 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (3, 6, 9, 15, 18, 21, 27, 30, 33, 33, 33, 33, 33, 33, 33, 33)
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (3, 6, 9, 15, 18, 21, 27, 30, 33)
  AND standing.side = 'server'

-- agents: order=last_active&rated=true&chain=31337
SELECT registry.chain_id, registry.address, registry.kind, registry.identity_registry, registry.first_block
  FROM registry
  ORDER BY registry.chain_id, registry.first_block, registry.address
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT DISTINCT registry.identity_registry
  FROM registry
  WHERE registry.chain_id = 31337
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, 0 AS relevance, CAST(agent_activity.last_activity AS FLOAT) AS first_rank, 0.0 AS second_rank
  FROM agent
  JOIN agent_activity ON agent_activity.chain_id = agent.chain_id
  AND agent_activity.identity_registry = agent.identity_registry
  AND agent_activity.agent_id = agent.agent_id
  WHERE (EXISTS (SELECT *
  FROM summary, registry
  WHERE summary.chain_id = agent.chain_id
  AND registry.chain_id = agent.chain_id
  AND registry.identity_registry = agent.identity_registry
  AND registry.kind IN ('ReputationRegistry', 'BidirectionalReputationRegistry', 'AuthorizedReputationRegistry')
  AND summary.registry = +registry.address
  AND summary.agent_id = agent.agent_id
  AND summary.side = 'server'))
  AND agent_activity.chain_id = 31337
  AND agent_activity.identity_registry = '0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1'
  AND agent_activity.last_activity <= 4611686018427387904
  ORDER BY agent_activity.last_activity DESC, agent.identity_registry, agent.agent_id LIMIT 21 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 18, 20, 22, 27, 28, 31, 32, 34, 36, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37)
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 18, 20, 22, 27, 28, 31, 32, 34, 36, 37)
  AND standing.side = 'server'

-- agents: owner=OWNER
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT chain.chain_id
  FROM chain
SELECT standing.side
  FROM standing
  WHERE standing.chain_id = 31337
  AND standing.side = 'server' LIMIT 1 OFFSET 0
SELECT anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id, anon_1.relevance, anon_1.first_rank, anon_1.second_rank
  FROM (SELECT agent.chain_id AS chain_id, agent.identity_registry AS identity_registry, agent.agent_id AS agent_id, 0 AS relevance, CAST(0 AS FLOAT) + CAST(CASE WHEN (standing.rank IS NOT NULL) THEN 0.5 WHEN (standing.agent_id IS NULL) THEN 0.0 ELSE -100.0 END AS FLOAT) AS first_rank, CASE WHEN (standing.rank IS NOT NULL) THEN standing.rank ELSE 0.0 END AS second_rank
  FROM agent
  LEFT OUTER JOIN standing ON standing.side = 'server'
  AND agent.chain_id = standing.chain_id
  AND agent.identity_registry = standing.identity_registry
  AND agent.agent_id = standing.agent_id
  WHERE agent.owner = '0x0000000000000000000000000000000000000065'
  AND agent.chain_id IN (31337) LIMIT -1 OFFSET 0) AS anon_1
  ORDER BY anon_1.first_rank DESC, anon_1.second_rank DESC, anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id LIMIT 21 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (1, 31)
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (1, 31)
  AND standing.side = 'server'

-- agents: wallet=OWNER
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT chain.chain_id
  FROM chain
SELECT standing.side
  FROM standing
  WHERE standing.chain_id = 31337
  AND standing.side = 'server' LIMIT 1 OFFSET 0
SELECT anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id, anon_1.relevance, anon_1.first_rank, anon_1.second_rank
  FROM (SELECT agent.chain_id AS chain_id, agent.identity_registry AS identity_registry, agent.agent_id AS agent_id, 0 AS relevance, CAST(0 AS FLOAT) + CAST(CASE WHEN (standing.rank IS NOT NULL) THEN 0.5 WHEN (standing.agent_id IS NULL) THEN 0.0 ELSE -100.0 END AS FLOAT) AS first_rank, CASE WHEN (standing.rank IS NOT NULL) THEN standing.rank ELSE 0.0 END AS second_rank
  FROM agent
  LEFT OUTER JOIN standing ON standing.side = 'server'
  AND agent.chain_id = standing.chain_id
  AND agent.identity_registry = standing.identity_registry
  AND agent.agent_id = standing.agent_id
  WHERE agent.wallet = '0x0000000000000000000000000000000000000065'
  AND agent.chain_id IN (31337) LIMIT -1 OFFSET 0) AS anon_1
  ORDER BY anon_1.first_rank DESC, anon_1.second_rank DESC, anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id LIMIT 21 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (1, 31)
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (1, 31)
  AND standing.side = 'server'

-- agents: capability=mcp_tool:weather_read&service=mcp
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT chain.chain_id
  FROM chain
SELECT standing.side
  FROM standing
  WHERE standing.chain_id = 31337
  AND standing.side = 'server' LIMIT 1 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, 0 AS relevance, 0.5 AS first_rank, standing.rank AS second_rank
  FROM agent
  JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  JOIN file ON file.file_id = agent_file.file_id
  AND +file.state = 'loaded', standing
  WHERE (EXISTS (SELECT *
  FROM registration_capability
  WHERE registration_capability.content_hash = file.content_hash
  AND registration_capability.kind = 'mcp_tool'
  AND registration_capability.value = 'weather_read'))
  AND (EXISTS (SELECT *
  FROM registration_service
  WHERE registration_service.content_hash = file.content_hash
  AND lower(registration_service.name) = 'mcp'))
  AND standing.chain_id = 31337
  AND standing.rank IS NOT NULL
  AND standing.side = 'server'
  AND agent.chain_id = standing.chain_id
  AND agent.identity_registry = standing.identity_registry
  AND agent.agent_id = +standing.agent_id
  ORDER BY standing.rank DESC, standing.identity_registry, standing.agent_id LIMIT 21 OFFSET 0
SELECT standing_refresh.block_number
  FROM standing_refresh
  WHERE standing_refresh.chain_id = 31337
SELECT agent.agent_id, agent.registered_block
  FROM agent
  WHERE agent.chain_id = 31337
  ORDER BY agent.registered_at DESC LIMIT 1 OFFSET 0
SELECT anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id, anon_1.relevance, anon_1.first_rank, anon_1.second_rank
  FROM (SELECT agent.chain_id AS chain_id, agent.identity_registry AS identity_registry, agent.agent_id AS agent_id, 0 AS relevance, CAST(0 AS FLOAT) + CAST(CASE WHEN (standing.rank IS NOT NULL) THEN 0.5 WHEN (standing.agent_id IS NULL) THEN 0.0 ELSE -100.0 END AS FLOAT) AS first_rank, CASE WHEN (standing.rank IS NOT NULL) THEN standing.rank ELSE 0.0 END AS second_rank
  FROM agent
  JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  JOIN file ON file.file_id = agent_file.file_id
  AND +file.state = 'loaded', standing
  WHERE (EXISTS (SELECT *
  FROM registration_capability
  WHERE registration_capability.content_hash = file.content_hash
  AND registration_capability.kind = 'mcp_tool'
  AND registration_capability.value = 'weather_read'))
  AND (EXISTS (SELECT *
  FROM registration_service
  WHERE registration_service.content_hash = file.content_hash
  AND lower(registration_service.name) = 'mcp'))
  AND standing.chain_id IN (31337)
  AND standing.rank IS NULL
  AND standing.side = 'server'
  AND agent.chain_id = standing.chain_id
  AND agent.identity_registry = standing.identity_registry
  AND agent.agent_id = +standing.agent_id LIMIT -1 OFFSET 0) AS anon_1
  ORDER BY anon_1.first_rank DESC, anon_1.second_rank DESC, anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id LIMIT 17 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (3, 10, 17, 31)
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (3, 10, 17, 31)
  AND standing.side = 'server'

-- agents: tag=starred&payment=claimed
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT chain.chain_id
  FROM chain
SELECT standing.side
  FROM standing
  WHERE standing.chain_id = 31337
  AND standing.side = 'server' LIMIT 1 OFFSET 0
SELECT anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id, anon_1.relevance, anon_1.first_rank, anon_1.second_rank
  FROM (SELECT agent.chain_id AS chain_id, agent.identity_registry AS identity_registry, agent.agent_id AS agent_id, 0 AS relevance, CAST(0 AS FLOAT) + CAST(CASE WHEN (standing.rank IS NOT NULL) THEN 0.5 WHEN (standing.agent_id IS NULL) THEN 0.0 ELSE -100.0 END AS FLOAT) AS first_rank, CASE WHEN (standing.rank IS NOT NULL) THEN standing.rank ELSE 0.0 END AS second_rank
  FROM agent
  JOIN (SELECT anon_3.chain_id AS chain_id, anon_3.identity_registry AS identity_registry, anon_3.agent_id AS agent_id, max(coalesce(anon_3.lower_bound, -1.0)) AS rank
  FROM (SELECT anon_4.chain_id AS chain_id, anon_4.identity_registry AS identity_registry, anon_4.agent_id AS agent_id, anon_4.registry AS registry, anon_4.tag AS tag, sum(anon_4.entries) AS count, count(*) AS counterparts, (sum(anon_4.units) / (1000000 + 0.0)) / (sum(anon_4.entries) + 0.0) AS mean, CASE WHEN (anon_4.tag = 'reachable') THEN 0.0 + CASE WHEN (((CAST(sum(anon_4.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(anon_4.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(anon_4.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) > 0) THEN ((CAST(sum(anon_4.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(anon_4.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(anon_4.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) ELSE 0.0 END * 1 WHEN (anon_4.tag = 'ownerVerified') THEN 0.0 + CASE WHEN (((CAST(sum(anon_4.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(anon_4.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(anon_4.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) > 0) THEN ((CAST(sum(anon_4.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(anon_4.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(anon_4.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) ELSE 0.0 END * 1 WHEN (anon_4.tag = 'responseTime') THEN NULL WHEN (anon_4.tag = 'blocktimeFreshness') THEN NULL WHEN (anon_4.tag = 'revenues') THEN NULL WHEN (anon_4.tag = 'tradingYield') THEN NULL ELSE 0.0 + CASE WHEN (((CAST(sum(anon_4.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(anon_4.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(anon_4.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) > 0) THEN ((CAST(sum(anon_4.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(anon_4.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(anon_4.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) ELSE 0.0 END * 100 END AS lower_bound
  FROM (SELECT payment_claim.chain_id AS chain_id, registry.identity_registry AS identity_registry, payment_claim.agent_id AS agent_id, payment_claim.registry AS registry, payment_claim.tag AS tag, count(*) AS entries, sum(payment_claim.share) / count(*) AS share, sum(CAST(payment_claim.units AS FLOAT)) AS units
  FROM payment_claim, registry
  WHERE registry.chain_id = payment_claim.chain_id
  AND registry.address = payment_claim.registry
  AND payment_claim.tag = 'starred'
  AND payment_claim.chain_id IN (31337)
  AND NOT (EXISTS (SELECT *
  FROM feedback
  WHERE payment_claim.chain_id = feedback.chain_id
  AND payment_claim.block_number = feedback.block_number
  AND payment_claim.log_index = feedback.log_index
  AND feedback.is_revoked))
  GROUP BY payment_claim.chain_id, registry.identity_registry, payment_claim.agent_id, payment_claim.registry, payment_claim.tag, payment_claim.account) AS anon_4
  GROUP BY anon_4.chain_id, anon_4.identity_registry, anon_4.agent_id, anon_4.registry, anon_4.tag HAVING 1 = 1) AS anon_3
  GROUP BY anon_3.chain_id, anon_3.identity_registry, anon_3.agent_id) AS anon_2 ON anon_2.chain_id = agent.chain_id
  AND anon_2.identity_registry = agent.identity_registry
  AND anon_2.agent_id = agent.agent_id
  LEFT OUTER JOIN standing ON standing.side = 'server'
  AND agent.chain_id = standing.chain_id
  AND agent.identity_registry = standing.identity_registry
  AND agent.agent_id = standing.agent_id
  WHERE +agent.chain_id IN (31337) LIMIT -1 OFFSET 0) AS anon_1
  ORDER BY anon_1.first_rank DESC, anon_1.second_rank DESC, anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id LIMIT 21 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (1, 2, 3, 5, 6, 12, 13, 16, 17, 19, 27, 33, 34, 35, 36, 36)
SELECT DISTINCT registry.address
  FROM registry
  WHERE registry.chain_id IN (31337)
  AND registry.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
SELECT anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id, anon_1.registry, anon_1.tag, sum(anon_1.entries) AS count, count(*) AS counterparts, (sum(anon_1.units) / (1000000 + 0.0)) / (sum(anon_1.entries) + 0.0) AS mean, CASE WHEN (anon_1.tag = 'reachable') THEN 0.0 + CASE WHEN (((CAST(sum(anon_1.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(anon_1.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(anon_1.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) > 0) THEN ((CAST(sum(anon_1.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(anon_1.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(anon_1.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) ELSE 0.0 END * 1 WHEN (anon_1.tag = 'ownerVerified') THEN 0.0 + CASE WHEN (((CAST(sum(anon_1.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(anon_1.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(anon_1.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) > 0) THEN ((CAST(sum(anon_1.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(anon_1.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(anon_1.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) ELSE 0.0 END * 1 WHEN (anon_1.tag = 'responseTime') THEN NULL WHEN (anon_1.tag = 'blocktimeFreshness') THEN NULL WHEN (anon_1.tag = 'revenues') THEN NULL WHEN (anon_1.tag = 'tradingYield') THEN NULL ELSE 0.0 + CASE WHEN (((CAST(sum(anon_1.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(anon_1.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(anon_1.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) > 0) THEN ((CAST(sum(anon_1.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0) + 2.70554345409541 / ((2 * CAST(count(*) AS FLOAT)) + 0.0)) - 1.64485362695147 * sqrt(((CAST(sum(anon_1.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) * (1 - CAST(sum(anon_1.share) AS FLOAT) / ((CAST(count(*) AS FLOAT) * 1000000) + 0.0)) + 2.70554345409541 / ((4 * CAST(count(*) AS FLOAT)) + 0.0)) / (CAST(count(*) AS FLOAT) + 0.0))) / ((1 + 2.70554345409541 / (CAST(count(*) AS FLOAT) + 0.0)) + 0.0) ELSE 0.0 END * 100 END AS lower_bound
  FROM (SELECT payment_claim.chain_id AS chain_id, registry.identity_registry AS identity_registry, payment_claim.agent_id AS agent_id, payment_claim.registry AS registry, payment_claim.tag AS tag, count(*) AS entries, sum(payment_claim.share) / count(*) AS share, sum(CAST(payment_claim.units AS FLOAT)) AS units
  FROM payment_claim, registry
  WHERE registry.chain_id = payment_claim.chain_id
  AND registry.address = payment_claim.registry
  AND payment_claim.tag = 'starred'
  AND payment_claim.chain_id IN (31337)
  AND payment_claim.registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1', '0xE5e5E5E5e5e5E5E5E5E5e5E5e5e5e5E5e5e5e5e5', '0xb2b2b2b2b2B2b2B2B2b2b2B2B2b2B2B2b2b2b2b2', '0xc3c3c3c3c3c3c3c3c3C3C3c3C3C3C3c3C3C3c3c3', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4')
  AND payment_claim.agent_id IN (1, 2, 3, 5, 6, 12, 13, 16, 17, 19, 27, 33, 34, 35, 36)
  AND NOT (EXISTS (SELECT *
  FROM feedback
  WHERE payment_claim.chain_id = feedback.chain_id
  AND payment_claim.block_number = feedback.block_number
  AND payment_claim.log_index = feedback.log_index
  AND feedback.is_revoked))
  GROUP BY payment_claim.chain_id, registry.identity_registry, payment_claim.agent_id, payment_claim.registry, payment_claim.tag, payment_claim.account) AS anon_1
  GROUP BY anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id, anon_1.registry, anon_1.tag HAVING 1 = 1
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (1, 2, 3, 5, 6, 12, 13, 16, 17, 19, 27, 33, 34, 35, 36)
  AND standing.side = 'server'

-- agents: blind=only&tag=starred
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT chain.chain_id
  FROM chain
SELECT standing.side
  FROM standing
  WHERE standing.chain_id = 31337
  AND standing.side = 'server' LIMIT 1 OFFSET 0
SELECT count(*) AS count_1
  FROM (SELECT 1 AS one
  FROM summary
  WHERE summary.chain_id = 31337
  AND summary.side = 'b-server'
  AND summary.tag = 'starred'
  ORDER BY summary.lower_bound DESC LIMIT 2001 OFFSET 0) AS anon_1
SELECT anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id, anon_1.relevance, anon_1.first_rank, anon_1.second_rank
  FROM (SELECT agent.chain_id AS chain_id, agent.identity_registry AS identity_registry, agent.agent_id AS agent_id, 0 AS relevance, CAST(0 AS FLOAT) + CAST(CASE WHEN (standing.rank IS NOT NULL) THEN 0.5 WHEN (standing.agent_id IS NULL) THEN 0.0 ELSE -100.0 END AS FLOAT) AS first_rank, CASE WHEN (standing.rank IS NOT NULL) THEN standing.rank ELSE 0.0 END AS second_rank
  FROM agent
  JOIN (SELECT anon_3.chain_id AS chain_id, anon_3.identity_registry AS identity_registry, anon_3.agent_id AS agent_id, max(coalesce(anon_3.lower_bound, -1.0)) AS rank
  FROM (SELECT summary.chain_id AS chain_id, registry.identity_registry AS identity_registry, summary.agent_id AS agent_id, summary.registry AS registry, summary.tag AS tag, summary.count AS count, summary.counterparts AS counterparts, summary.mean AS mean, summary.lower_bound AS lower_bound
  FROM summary, registry
  WHERE registry.chain_id = summary.chain_id
  AND registry.address = summary.registry
  AND summary.tag = 'starred'
  AND summary.side = 'b-server'
  AND summary.chain_id IN (31337)) AS anon_3
  GROUP BY anon_3.chain_id, anon_3.identity_registry, anon_3.agent_id) AS anon_2 ON anon_2.chain_id = agent.chain_id
  AND anon_2.identity_registry = agent.identity_registry
  AND anon_2.agent_id = agent.agent_id
  LEFT OUTER JOIN standing ON standing.side = 'server'
  AND agent.chain_id = standing.chain_id
  AND agent.identity_registry = standing.identity_registry
  AND agent.agent_id = standing.agent_id
  WHERE +agent.chain_id IN (31337) LIMIT -1 OFFSET 0) AS anon_1
  ORDER BY anon_1.first_rank DESC, anon_1.second_rank DESC, anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id LIMIT 21 OFFSET 0

-- agents: registered_from=1700000000&updated_to=1700200000
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT chain.chain_id
  FROM chain
SELECT standing.side
  FROM standing
  WHERE standing.chain_id = 31337
  AND standing.side = 'server' LIMIT 1 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, 0 AS relevance, 0.5 AS first_rank, standing.rank AS second_rank
  FROM agent, standing
  WHERE agent.registered_at >= 1700000000
  AND agent.updated_at <= 1700200000
  AND standing.chain_id = 31337
  AND standing.rank IS NOT NULL
  AND standing.side = 'server'
  AND agent.chain_id = standing.chain_id
  AND agent.identity_registry = standing.identity_registry
  AND agent.agent_id = +standing.agent_id
  ORDER BY standing.rank DESC, standing.identity_registry, standing.agent_id LIMIT 21 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (1, 3, 4, 5, 6, 7, 8, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27)
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (1, 3, 4, 5, 6, 7, 8, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 27)
  AND standing.side = 'server'

-- agents: gate=tag%3Dstarred,minimum%3D50&gate=side%3Dclient,minimum%3D20
SELECT max(registration_words.document_id) AS last
  FROM registration_words
SELECT chain.chain_id
  FROM chain
SELECT standing.side
  FROM standing
  WHERE standing.chain_id = 31337
  AND standing.side = 'server' LIMIT 1 OFFSET 0
SELECT count(*) AS count_1
  FROM (SELECT 1 AS one
  FROM summary
  WHERE summary.chain_id = 31337
  AND summary.side = 'server'
  AND summary.tag = 'starred'
  AND summary.mean >= 50.0
  ORDER BY summary.lower_bound DESC LIMIT 2001 OFFSET 0) AS anon_1
SELECT anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id, anon_1.relevance, anon_1.first_rank, anon_1.second_rank
  FROM (SELECT agent.chain_id AS chain_id, agent.identity_registry AS identity_registry, agent.agent_id AS agent_id, 0 AS relevance, CAST(0 AS FLOAT) + CAST(CASE WHEN (standing.rank IS NOT NULL) THEN 0.5 WHEN (standing.agent_id IS NULL) THEN 0.0 ELSE -100.0 END AS FLOAT) AS first_rank, CASE WHEN (standing.rank IS NOT NULL) THEN standing.rank ELSE 0.0 END AS second_rank
  FROM agent
  JOIN (SELECT anon_3.chain_id AS chain_id, anon_3.identity_registry AS identity_registry, anon_3.agent_id AS agent_id, max(coalesce(anon_3.lower_bound, -1.0)) AS rank
  FROM (SELECT summary.chain_id AS chain_id, registry.identity_registry AS identity_registry, summary.agent_id AS agent_id, summary.registry AS registry, summary.tag AS tag, summary.count AS count, summary.counterparts AS counterparts, summary.mean AS mean, summary.lower_bound AS lower_bound
  FROM summary, registry
  WHERE registry.chain_id = summary.chain_id
  AND registry.address = summary.registry
  AND summary.tag = 'starred'
  AND summary.side = 'server'
  AND summary.chain_id IN (31337)
  AND summary.mean >= 50.0) AS anon_3
  GROUP BY anon_3.chain_id, anon_3.identity_registry, anon_3.agent_id) AS anon_2 ON anon_2.chain_id = agent.chain_id
  AND anon_2.identity_registry = agent.identity_registry
  AND anon_2.agent_id = agent.agent_id
  JOIN (SELECT anon_5.chain_id AS chain_id, anon_5.identity_registry AS identity_registry, anon_5.agent_id AS agent_id, max(coalesce(anon_5.lower_bound, -1.0)) AS rank
  FROM (SELECT summary.chain_id AS chain_id, registry.identity_registry AS identity_registry, summary.agent_id AS agent_id, summary.registry AS registry, summary.tag AS tag, summary.count AS count, summary.counterparts AS counterparts, summary.mean AS mean, summary.lower_bound AS lower_bound
  FROM summary, registry
  WHERE registry.chain_id = summary.chain_id
  AND registry.address = summary.registry
  AND summary.side = 'client'
  AND summary.chain_id IN (31337)
  AND summary.mean >= 20.0) AS anon_5
  GROUP BY anon_5.chain_id, anon_5.identity_registry, anon_5.agent_id) AS anon_4 ON anon_4.chain_id = agent.chain_id
  AND anon_4.identity_registry = agent.identity_registry
  AND anon_4.agent_id = agent.agent_id
  LEFT OUTER JOIN standing ON standing.side = 'server'
  AND agent.chain_id = standing.chain_id
  AND agent.identity_registry = standing.identity_registry
  AND agent.agent_id = standing.agent_id
  WHERE +agent.chain_id IN (31337) LIMIT -1 OFFSET 0) AS anon_1
  ORDER BY anon_1.first_rank DESC, anon_1.second_rank DESC, anon_1.chain_id, anon_1.identity_registry, anon_1.agent_id LIMIT 21 OFFSET 0
SELECT agent.chain_id, agent.identity_registry, agent.agent_id, agent.owner, agent.wallet, agent.registered_at, agent.updated_at, registration_file.name, substr(registration_file.description, 1, 300) AS description, registration_file.active, registration_file.x402_support
  FROM agent
  LEFT OUTER JOIN agent_file ON agent_file.chain_id = agent.chain_id
  AND agent_file.identity_registry = agent.identity_registry
  AND agent_file.agent_id = agent.agent_id
  LEFT OUTER JOIN file ON file.file_id = agent_file.file_id
  AND file.state = 'loaded'
  LEFT OUTER JOIN registration_file ON registration_file.content_hash = file.content_hash
  WHERE agent.chain_id IN (31337)
  AND agent.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND agent.agent_id IN (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 21, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26)
SELECT DISTINCT registry.address
  FROM registry
  WHERE registry.chain_id IN (31337)
  AND registry.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
SELECT summary.chain_id, registry.identity_registry, summary.agent_id, summary.registry, summary.tag, summary.count, summary.counterparts, summary.mean, summary.lower_bound
  FROM summary, registry
  WHERE registry.chain_id = summary.chain_id
  AND registry.address = summary.registry
  AND summary.side = 'server'
  AND summary.tag = 'starred'
  AND summary.chain_id IN (31337)
  AND summary.registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1', '0xE5e5E5E5e5e5E5E5E5E5e5E5e5e5e5E5e5e5e5e5', '0xb2b2b2b2b2B2b2B2B2b2b2B2B2b2B2B2b2b2b2b2', '0xc3c3c3c3c3c3c3c3c3C3C3c3C3C3C3c3C3C3c3c3', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4')
  AND summary.agent_id IN (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 21, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26)
SELECT standing.chain_id, standing.identity_registry, standing.agent_id, standing.status, standing.lower_bound, standing.reasons, standing.rating
  FROM standing
  WHERE standing.chain_id IN (31337)
  AND standing.identity_registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1')
  AND standing.agent_id IN (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 21, 26)
  AND standing.side = 'server'

-- feedback: 
SELECT feedback.chain_id, feedback.agent_id, feedback.registry, feedback.client_address, feedback.feedback_index, feedback.value, feedback.value_decimals, feedback.tag1, feedback.tag2, feedback.endpoint, feedback.feedback_uri, feedback.feedback_hash, feedback.is_revoked, feedback.revoked_block, feedback.is_blind, feedback.block_number, feedback.log_index, feedback.block_time, feedback.transaction_hash, file.state, file.integrity, file.reason, feedback_file.text, feedback_file.comment, feedback_file.mcp_tool, feedback_file.mcp_prompt, feedback_file.mcp_resource, feedback_file.a2a_skills, feedback_file.a2a_task_id, feedback_file.oasf_skills, feedback_file.oasf_domains, feedback_file.payment_from, feedback_file.payment_to, feedback_file.payment_chain_id, feedback_file.payment_transaction
  FROM feedback
  LEFT OUTER JOIN file_reference ON file_reference.chain_id = feedback.chain_id
  AND file_reference.block_number = feedback.block_number
  AND file_reference.log_index = feedback.log_index
  LEFT OUTER JOIN file ON file.file_id = file_reference.file_id
  LEFT OUTER JOIN feedback_file ON feedback_file.content_hash = file.content_hash
  AND file.state = 'loaded'
  WHERE feedback.chain_id = 31337
  AND feedback.is_revoked IS 0
  ORDER BY feedback.block_number DESC, feedback.log_index DESC LIMIT 21 OFFSET 0

-- feedback: agent=31337:1
SELECT feedback.chain_id, feedback.agent_id, feedback.registry, feedback.client_address, feedback.feedback_index, feedback.value, feedback.value_decimals, feedback.tag1, feedback.tag2, feedback.endpoint, feedback.feedback_uri, feedback.feedback_hash, feedback.is_revoked, feedback.revoked_block, feedback.is_blind, feedback.block_number, feedback.log_index, feedback.block_time, feedback.transaction_hash, file.state, file.integrity, file.reason, feedback_file.text, feedback_file.comment, feedback_file.mcp_tool, feedback_file.mcp_prompt, feedback_file.mcp_resource, feedback_file.a2a_skills, feedback_file.a2a_task_id, feedback_file.oasf_skills, feedback_file.oasf_domains, feedback_file.payment_from, feedback_file.payment_to, feedback_file.payment_chain_id, feedback_file.payment_transaction
  FROM feedback
  LEFT OUTER JOIN file_reference ON file_reference.chain_id = feedback.chain_id
  AND file_reference.block_number = feedback.block_number
  AND file_reference.log_index = feedback.log_index
  LEFT OUTER JOIN file ON file.file_id = file_reference.file_id
  LEFT OUTER JOIN feedback_file ON feedback_file.content_hash = file.content_hash
  AND file.state = 'loaded'
  WHERE feedback.chain_id = 31337
  AND feedback.registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1', '0xE5e5E5E5e5e5E5E5E5E5e5E5e5e5e5E5e5e5e5e5', '0xb2b2b2b2b2B2b2B2B2b2b2B2B2b2B2B2b2b2b2b2', '0xc3c3c3c3c3c3c3c3c3C3C3c3C3C3C3c3C3C3c3c3', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4')
  AND feedback.agent_id IN (1)
  AND feedback.agent_id = 1
  AND feedback.registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1', '0xE5e5E5E5e5e5E5E5E5E5e5E5e5e5e5E5e5e5e5e5', '0xb2b2b2b2b2B2b2B2B2b2b2B2B2b2B2B2b2b2b2b2', '0xc3c3c3c3c3c3c3c3c3C3C3c3C3C3C3c3C3C3c3c3', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4')
  AND feedback.is_revoked IS 0
  ORDER BY feedback.block_number DESC, feedback.log_index DESC LIMIT 21 OFFSET 0

-- feedback: agent=31337:1&reviewer=CLIENT&revoked=true
SELECT feedback.chain_id, feedback.agent_id, feedback.registry, feedback.client_address, feedback.feedback_index, feedback.value, feedback.value_decimals, feedback.tag1, feedback.tag2, feedback.endpoint, feedback.feedback_uri, feedback.feedback_hash, feedback.is_revoked, feedback.revoked_block, feedback.is_blind, feedback.block_number, feedback.log_index, feedback.block_time, feedback.transaction_hash, file.state, file.integrity, file.reason, feedback_file.text, feedback_file.comment, feedback_file.mcp_tool, feedback_file.mcp_prompt, feedback_file.mcp_resource, feedback_file.a2a_skills, feedback_file.a2a_task_id, feedback_file.oasf_skills, feedback_file.oasf_domains, feedback_file.payment_from, feedback_file.payment_to, feedback_file.payment_chain_id, feedback_file.payment_transaction
  FROM feedback
  LEFT OUTER JOIN file_reference ON file_reference.chain_id = feedback.chain_id
  AND file_reference.block_number = feedback.block_number
  AND file_reference.log_index = feedback.log_index
  LEFT OUTER JOIN file ON file.file_id = file_reference.file_id
  LEFT OUTER JOIN feedback_file ON feedback_file.content_hash = file.content_hash
  AND file.state = 'loaded'
  WHERE feedback.chain_id = 31337
  AND feedback.registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1', '0xE5e5E5E5e5e5E5E5E5E5e5E5e5e5e5E5e5e5e5e5', '0xb2b2b2b2b2B2b2B2B2b2b2B2B2b2B2B2b2b2b2b2', '0xc3c3c3c3c3c3c3c3c3C3C3c3C3C3C3c3C3C3c3c3', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4')
  AND feedback.agent_id IN (1)
  AND feedback.agent_id = 1
  AND feedback.registry IN ('0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1', '0xE5e5E5E5e5e5E5E5E5E5e5E5e5e5e5E5e5e5e5e5', '0xb2b2b2b2b2B2b2B2B2b2b2B2B2b2B2B2b2b2b2b2', '0xc3c3c3c3c3c3c3c3c3C3C3c3C3C3C3c3C3C3c3c3', '0xd4d4d4D4D4d4d4d4d4D4d4D4d4d4d4d4d4d4D4d4')
  AND feedback.client_address IN ('0x00000000000000000000000000000000000000C8')
  ORDER BY feedback.block_number DESC, feedback.log_index DESC LIMIT 21 OFFSET 0

-- feedback: reviewer=CLIENT&tag1=starred
SELECT feedback.chain_id, feedback.agent_id, feedback.registry, feedback.client_address, feedback.feedback_index, feedback.value, feedback.value_decimals, feedback.tag1, feedback.tag2, feedback.endpoint, feedback.feedback_uri, feedback.feedback_hash, feedback.is_revoked, feedback.revoked_block, feedback.is_blind, feedback.block_number, feedback.log_index, feedback.block_time, feedback.transaction_hash, file.state, file.integrity, file.reason, feedback_file.text, feedback_file.comment, feedback_file.mcp_tool, feedback_file.mcp_prompt, feedback_file.mcp_resource, feedback_file.a2a_skills, feedback_file.a2a_task_id, feedback_file.oasf_skills, feedback_file.oasf_domains, feedback_file.payment_from, feedback_file.payment_to, feedback_file.payment_chain_id, feedback_file.payment_transaction
  FROM feedback
  LEFT OUTER JOIN file_reference ON file_reference.chain_id = feedback.chain_id
  AND file_reference.block_number = feedback.block_number
  AND file_reference.log_index = feedback.log_index
  LEFT OUTER JOIN file ON file.file_id = file_reference.file_id
  LEFT OUTER JOIN feedback_file ON feedback_file.content_hash = file.content_hash
  AND file.state = 'loaded'
  WHERE feedback.chain_id = 31337
  AND feedback.client_address IN ('0x00000000000000000000000000000000000000C8')
  AND feedback.tag1 = 'starred'
  AND feedback.is_revoked IS 0
  ORDER BY feedback.block_number DESC, feedback.log_index DESC LIMIT 21 OFFSET 0

-- feedback: tag=quality&minimum=50&maximum=90
SELECT feedback.chain_id, feedback.agent_id, feedback.registry, feedback.client_address, feedback.feedback_index, feedback.value, feedback.value_decimals, feedback.tag1, feedback.tag2, feedback.endpoint, feedback.feedback_uri, feedback.feedback_hash, feedback.is_revoked, feedback.revoked_block, feedback.is_blind, feedback.block_number, feedback.log_index, feedback.block_time, feedback.transaction_hash, file.state, file.integrity, file.reason, feedback_file.text, feedback_file.comment, feedback_file.mcp_tool, feedback_file.mcp_prompt, feedback_file.mcp_resource, feedback_file.a2a_skills, feedback_file.a2a_task_id, feedback_file.oasf_skills, feedback_file.oasf_domains, feedback_file.payment_from, feedback_file.payment_to, feedback_file.payment_chain_id, feedback_file.payment_transaction
  FROM feedback
  LEFT OUTER JOIN file_reference ON file_reference.chain_id = feedback.chain_id
  AND file_reference.block_number = feedback.block_number
  AND file_reference.log_index = feedback.log_index
  LEFT OUTER JOIN file ON file.file_id = file_reference.file_id
  LEFT OUTER JOIN feedback_file ON feedback_file.content_hash = file.content_hash
  AND file.state = 'loaded'
  WHERE feedback.chain_id = 31337
  AND (feedback.tag1 IN ('quality') OR feedback.tag2 IN ('quality'))
  AND (feedback.value_decimals = 0
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value >= 50 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0') OR feedback.value_decimals = 1
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value >= 500 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0') OR feedback.value_decimals = 2
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value >= 5000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0') OR feedback.value_decimals = 3
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value >= 50000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0') OR feedback.value_decimals = 4
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value >= 500000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0') OR feedback.value_decimals = 5
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value >= 5000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0') OR feedback.value_decimals = 6
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value >= 50000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0') OR feedback.value_decimals = 7
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value >= 500000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0') OR feedback.value_decimals = 8
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value >= 5000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0') OR feedback.value_decimals = 9
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value >= 50000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0') OR feedback.value_decimals = 10
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value >= 500000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0') OR feedback.value_decimals = 11
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value >= 5000000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0') OR feedback.value_decimals = 12
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value >= 50000000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0') OR feedback.value_decimals = 13
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value >= 500000000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0') OR feedback.value_decimals = 14
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value >= 5000000000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0') OR feedback.value_decimals = 15
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value >= 50000000000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0') OR feedback.value_decimals = 16
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value >= 500000000000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0') OR feedback.value_decimals = 17
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value >= 5000000000000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0') OR feedback.value_decimals = 18
  AND typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0'
  AND feedback.value >= '0x000000000000000000000000000000000000000000000002b5e3af16b1880000')
  AND (feedback.value_decimals = 0
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value <= 90 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-') OR feedback.value_decimals = 1
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value <= 900 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-') OR feedback.value_decimals = 2
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value <= 9000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-') OR feedback.value_decimals = 3
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value <= 90000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-') OR feedback.value_decimals = 4
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value <= 900000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-') OR feedback.value_decimals = 5
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value <= 9000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-') OR feedback.value_decimals = 6
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value <= 90000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-') OR feedback.value_decimals = 7
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value <= 900000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-') OR feedback.value_decimals = 8
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value <= 9000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-') OR feedback.value_decimals = 9
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value <= 90000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-') OR feedback.value_decimals = 10
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value <= 900000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-') OR feedback.value_decimals = 11
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value <= 9000000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-') OR feedback.value_decimals = 12
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value <= 90000000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-') OR feedback.value_decimals = 13
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value <= 900000000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-') OR feedback.value_decimals = 14
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value <= 9000000000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-') OR feedback.value_decimals = 15
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value <= 90000000000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-') OR feedback.value_decimals = 16
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value <= 900000000000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-') OR feedback.value_decimals = 17
  AND (typeof(feedback.value) = 'integer'
  AND feedback.value <= 9000000000000000000 OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-') OR feedback.value_decimals = 18
  AND (typeof(feedback.value) = 'integer' OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '-' OR typeof(feedback.value) = 'text'
  AND substr(feedback.value, 1, 1) = '0'
  AND feedback.value <= '0x000000000000000000000000000000000000000000000004e1003b28d9280000'))
  AND feedback.is_revoked IS 0
  ORDER BY feedback.block_number DESC, feedback.log_index DESC LIMIT 21 OFFSET 0

-- feedback: given_from=1700100000&given_to=1700200000
SELECT feedback.chain_id, feedback.agent_id, feedback.registry, feedback.client_address, feedback.feedback_index, feedback.value, feedback.value_decimals, feedback.tag1, feedback.tag2, feedback.endpoint, feedback.feedback_uri, feedback.feedback_hash, feedback.is_revoked, feedback.revoked_block, feedback.is_blind, feedback.block_number, feedback.log_index, feedback.block_time, feedback.transaction_hash, file.state, file.integrity, file.reason, feedback_file.text, feedback_file.comment, feedback_file.mcp_tool, feedback_file.mcp_prompt, feedback_file.mcp_resource, feedback_file.a2a_skills, feedback_file.a2a_task_id, feedback_file.oasf_skills, feedback_file.oasf_domains, feedback_file.payment_from, feedback_file.payment_to, feedback_file.payment_chain_id, feedback_file.payment_transaction
  FROM feedback
  LEFT OUTER JOIN file_reference ON file_reference.chain_id = feedback.chain_id
  AND file_reference.block_number = feedback.block_number
  AND file_reference.log_index = feedback.log_index
  LEFT OUTER JOIN file ON file.file_id = file_reference.file_id
  LEFT OUTER JOIN feedback_file ON feedback_file.content_hash = file.content_hash
  AND file.state = 'loaded'
  WHERE feedback.chain_id = 31337
  AND feedback.block_time >= 1700100000
  AND feedback.block_time <= 1700200000
  AND feedback.is_revoked IS 0
  ORDER BY feedback.block_number DESC, feedback.log_index DESC LIMIT 21 OFFSET 0

-- feedback: answered=true
SELECT feedback.chain_id, feedback.agent_id, feedback.registry, feedback.client_address, feedback.feedback_index, feedback.value, feedback.value_decimals, feedback.tag1, feedback.tag2, feedback.endpoint, feedback.feedback_uri, feedback.feedback_hash, feedback.is_revoked, feedback.revoked_block, feedback.is_blind, feedback.block_number, feedback.log_index, feedback.block_time, feedback.transaction_hash, file.state, file.integrity, file.reason, feedback_file.text, feedback_file.comment, feedback_file.mcp_tool, feedback_file.mcp_prompt, feedback_file.mcp_resource, feedback_file.a2a_skills, feedback_file.a2a_task_id, feedback_file.oasf_skills, feedback_file.oasf_domains, feedback_file.payment_from, feedback_file.payment_to, feedback_file.payment_chain_id, feedback_file.payment_transaction
  FROM feedback
  LEFT OUTER JOIN file_reference ON file_reference.chain_id = feedback.chain_id
  AND file_reference.block_number = feedback.block_number
  AND file_reference.log_index = feedback.log_index
  LEFT OUTER JOIN file ON file.file_id = file_reference.file_id
  LEFT OUTER JOIN feedback_file ON feedback_file.content_hash = file.content_hash
  AND file.state = 'loaded'
  WHERE feedback.chain_id = 31337
  AND feedback.is_revoked IS 0
  AND (EXISTS (SELECT *
  FROM response_appended
  WHERE response_appended.chain_id = feedback.chain_id
  AND response_appended.registry = feedback.registry
  AND response_appended.agent_id = feedback.agent_id
  AND response_appended.client_address = feedback.client_address
  AND response_appended.feedback_index = feedback.feedback_index))
  ORDER BY feedback.block_number DESC, feedback.log_index DESC LIMIT 21 OFFSET 0

-- feedback: paid=true
SELECT feedback.chain_id, feedback.agent_id, feedback.registry, feedback.client_address, feedback.feedback_index, feedback.value, feedback.value_decimals, feedback.tag1, feedback.tag2, feedback.endpoint, feedback.feedback_uri, feedback.feedback_hash, feedback.is_revoked, feedback.revoked_block, feedback.is_blind, feedback.block_number, feedback.log_index, feedback.block_time, feedback.transaction_hash, file.state, file.integrity, file.reason, feedback_file.text, feedback_file.comment, feedback_file.mcp_tool, feedback_file.mcp_prompt, feedback_file.mcp_resource, feedback_file.a2a_skills, feedback_file.a2a_task_id, feedback_file.oasf_skills, feedback_file.oasf_domains, feedback_file.payment_from, feedback_file.payment_to, feedback_file.payment_chain_id, feedback_file.payment_transaction
  FROM feedback
  LEFT OUTER JOIN file_reference ON file_reference.chain_id = feedback.chain_id
  AND file_reference.block_number = feedback.block_number
  AND file_reference.log_index = feedback.log_index
  LEFT OUTER JOIN file ON file.file_id = file_reference.file_id
  LEFT OUTER JOIN feedback_file ON feedback_file.content_hash = file.content_hash
  AND file.state = 'loaded'
  WHERE feedback.chain_id = 31337
  AND feedback.is_revoked IS 0
  AND (EXISTS (SELECT *
  FROM payment_claim
  WHERE payment_claim.chain_id = feedback.chain_id
  AND payment_claim.block_number = feedback.block_number
  AND payment_claim.log_index = feedback.log_index))
  ORDER BY feedback.block_number DESC, feedback.log_index DESC LIMIT 21 OFFSET 0

-- feedback: tool=forecast
SELECT feedback.chain_id, feedback.agent_id, feedback.registry, feedback.client_address, feedback.feedback_index, feedback.value, feedback.value_decimals, feedback.tag1, feedback.tag2, feedback.endpoint, feedback.feedback_uri, feedback.feedback_hash, feedback.is_revoked, feedback.revoked_block, feedback.is_blind, feedback.block_number, feedback.log_index, feedback.block_time, feedback.transaction_hash, file.state, file.integrity, file.reason, feedback_file.text, feedback_file.comment, feedback_file.mcp_tool, feedback_file.mcp_prompt, feedback_file.mcp_resource, feedback_file.a2a_skills, feedback_file.a2a_task_id, feedback_file.oasf_skills, feedback_file.oasf_domains, feedback_file.payment_from, feedback_file.payment_to, feedback_file.payment_chain_id, feedback_file.payment_transaction
  FROM feedback
  LEFT OUTER JOIN file_reference ON file_reference.chain_id = feedback.chain_id
  AND file_reference.block_number = feedback.block_number
  AND file_reference.log_index = feedback.log_index
  LEFT OUTER JOIN file ON file.file_id = file_reference.file_id
  LEFT OUTER JOIN feedback_file ON feedback_file.content_hash = file.content_hash
  AND file.state = 'loaded'
  WHERE feedback.chain_id = 31337
  AND feedback_file.mcp_tool = 'forecast'
  AND feedback.is_revoked IS 0
  ORDER BY feedback.block_number DESC, feedback.log_index DESC LIMIT 21 OFFSET 0

-- feedback: blind=only
SELECT feedback.chain_id, feedback.agent_id, feedback.registry, feedback.client_address, feedback.feedback_index, feedback.value, feedback.value_decimals, feedback.tag1, feedback.tag2, feedback.endpoint, feedback.feedback_uri, feedback.feedback_hash, feedback.is_revoked, feedback.revoked_block, feedback.is_blind, feedback.block_number, feedback.log_index, feedback.block_time, feedback.transaction_hash, file.state, file.integrity, file.reason, feedback_file.text, feedback_file.comment, feedback_file.mcp_tool, feedback_file.mcp_prompt, feedback_file.mcp_resource, feedback_file.a2a_skills, feedback_file.a2a_task_id, feedback_file.oasf_skills, feedback_file.oasf_domains, feedback_file.payment_from, feedback_file.payment_to, feedback_file.payment_chain_id, feedback_file.payment_transaction
  FROM feedback
  LEFT OUTER JOIN file_reference ON file_reference.chain_id = feedback.chain_id
  AND file_reference.block_number = feedback.block_number
  AND file_reference.log_index = feedback.log_index
  LEFT OUTER JOIN file ON file.file_id = file_reference.file_id
  LEFT OUTER JOIN feedback_file ON feedback_file.content_hash = file.content_hash
  AND file.state = 'loaded'
  WHERE feedback.chain_id = 31337
  AND feedback.is_revoked IS 0
  AND (feedback.block_number, feedback.log_index) IN (SELECT ratings_opened.block_number, ratings_opened.log_index - 1 AS anon_1
  FROM ratings_opened
  WHERE ratings_opened.chain_id = 31337)
  AND feedback.is_blind IS 1
  ORDER BY feedback.block_number DESC, feedback.log_index DESC LIMIT 21 OFFSET 0
