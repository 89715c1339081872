"""The routes, a module a subject. `create_app` includes the `router` of each."""
