"""The tools, one module per subject. `make_server` calls `add_tools` of each."""
