"""The tools, with one module per subject. `make_server` calls each module's `add_tools`."""
