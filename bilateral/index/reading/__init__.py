"""Read access to the index: connections, replicas, snapshots, registries and paging."""
