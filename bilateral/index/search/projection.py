"""The words of agents' names, so that a search for a misspelt word finds the similar ones.

Words are learnt with their file and stay, although their last file may go: a word that no file has finds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from sqlalchemy import Connection, select

from bilateral.index.log.inserts import insert_new
from bilateral.index.search.tables import known_word, word_trigram
from bilateral.index.search.words import LEARNT_LENGTHS, trigrams


def learn_words(connection: Connection, words: Iterable[str]) -> None:
    """Store words that are not known yet.

    Args:
        connection: The connection, in a transaction.
    """
    wanted = sorted({word for word in words if len(word) in LEARNT_LENGTHS})
    if not wanted:
        return
    known = set(connection.execute(select(known_word.c.word).where(known_word.c.word.in_(wanted))).scalars())
    parts = {word: trigrams(word) for word in wanted if word not in known}
    trigram_rows = [{"word": word, "trigram": trigram} for word, of_word in parts.items() for trigram in of_word]
    for table, rows in (
        (known_word, [{"word": word, "trigrams": len(of_word)} for word, of_word in parts.items()]),
        # In one order, so that two transactions do not wait for each other in a circle.
        (word_trigram, sorted(trigram_rows, key=itemgetter("trigram", "word"))),
    ):
        insert_new(connection, table, rows)
