"""The tools, a module a subject. `make_server` calls `add_tools` of each."""
