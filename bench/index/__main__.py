"""`python -m bench.index`: measures the index, and prints the figures."""

from bench.index.measurement import main

if __name__ == "__main__":  # processes that measure import this module too
    main()
