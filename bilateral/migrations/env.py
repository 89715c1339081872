"""Run the index's migrations within the transaction of `bilateral.index.log.revisions`."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
