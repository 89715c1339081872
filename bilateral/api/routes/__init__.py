"""The routes, one module per subject. `create_app` includes the `router` of each."""
