"""The routes, with one module per subject. `create_app` includes each module's `router`."""
