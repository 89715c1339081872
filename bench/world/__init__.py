"""An index of a made-up world, as large as one likes, without a node: for measurements of whatever reads the index."""
