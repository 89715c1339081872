"""The search tables, which `docs/search.md` documents and a migration creates."""

from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.types import TypeDecorator

from bilateral.index.agents.tables import agent
from bilateral.index.files import tables as files
from bilateral.index.files.tables import IS_LOADED, IS_READ, agent_file, payment_claim
from bilateral.index.log.columns import required
from bilateral.index.search.filters import MAX_WORD

metadata: Final = sa.MetaData()

KEY: Final = ("chain_id", "identity_registry", "agent_id")
"""The columns that make up an agent's key."""

WITH_FILES: Final = (
    agent.outerjoin(agent_file, sa.and_(*(agent_file.c[name] == agent.c[name] for name in KEY)))
    .outerjoin(files.file, IS_LOADED)
    .outerjoin(files.registration_file, IS_READ)
)
"""The join of agents with their loaded registration files."""


class Words(TypeDecorator[list[str]]):
    """A set of words: a `tsvector` on PostgreSQL, and on SQLite space-separated text, which FTS5 indexes."""

    impl = sa.Text().with_variant(TSVECTOR(), "postgresql")
    cache_ok = True

    def process_bind_param(self, value: Sequence[str] | None, dialect: sa.Dialect) -> str | None:  # noqa: ARG002
        """Convert words for the database. Words only contain letters and digits, so no escaping is needed."""
        return None if value is None else " ".join(value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> list[str] | None:  # noqa: ARG002
        """Convert a database value to words."""
        return None if value is None else [word.strip("'") for word in value.split()]


registration_words: Final = sa.Table(
    "registration_words",
    metadata,
    sa.Column("document_id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    files.content_column(is_unique=True),
    *required(Words, "name_words", "words"),
)
sa.Index("registration_words_by_word", registration_words.c.words, postgresql_using="gin").ddl_if(dialect="postgresql")
sa.Index("registration_words_by_name", registration_words.c.name_words, postgresql_using="gin").ddl_if(
    dialect="postgresql"
)

MODEL: Final = "wordllama l2_supercat 256, sections 1"
"""The version of the model and of the text selection. Vectors stored with another value are recomputed before use."""

registration_vector: Final = sa.Table(
    "registration_vector",
    metadata,
    sa.Column("vector_id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    files.content_column(is_unique=True),
    sa.Column("model", sa.String(60), nullable=False),
    sa.Column("words", sa.Integer, nullable=False),
    sa.Column("vector", sa.LargeBinary, nullable=False),
    sqlite_autoincrement=True,  # readers request the numbers above those that they have
)

vocabulary: Final = sa.Table(
    "known_word",
    metadata,
    sa.Column("word", sa.String(MAX_WORD), primary_key=True),
    sa.Column("trigrams", sa.Integer, nullable=False),
    sqlite_with_rowid=False,
)

word_trigram: Final = sa.Table(
    "word_trigram",
    metadata,
    sa.Column("trigram", sa.String(3), nullable=False),
    sa.Column("word", sa.String(MAX_WORD), nullable=False),
    sa.PrimaryKeyConstraint("trigram", "word"),
    sqlite_with_rowid=False,
)


sa.Index("agent_file_by_file", agent_file.c.file_id, postgresql_include=["chain_id", "identity_registry", "agent_id"])

sa.Index("payment_claim_by_agent", *(payment_claim.c[name] for name in ("chain_id", "tag", "registry", "agent_id")))
sa.Index("payment_claim_by_file", payment_claim.c.file_id)

for _statement in (
    # The tokenizer only splits at ASCII punctuation, which words do not contain, so FTS5 sees the words of `words_of`.
    """CREATE VIRTUAL TABLE agent_words USING fts5(name_words, words, content='registration_words',
       content_rowid='document_id', tokenize='ascii', detail='column', columnsize=0, prefix='2 3')""",
    """CREATE TRIGGER registration_words_inserted AFTER INSERT ON registration_words BEGIN
       INSERT INTO agent_words(rowid, name_words, words) VALUES (new.document_id, new.name_words, new.words); END""",
    """CREATE TRIGGER registration_words_deleted AFTER DELETE ON registration_words BEGIN
       INSERT INTO agent_words(agent_words, rowid, name_words, words)
       VALUES ('delete', old.document_id, old.name_words, old.words); END""",
):
    # SQLite's full-text index, and the triggers that update it together with its table within each statement.
    _create = sa.DDL(_statement)  # type: ignore[no-untyped-call]
    sa.event.listen(metadata, "after_create", _create.execute_if(dialect="sqlite"))
