"""Vectors that the tests of Python and TypeScript read: files of JSON, and the scripts that write them.

python -m tests.vectors    write all that is written by a script
"""
