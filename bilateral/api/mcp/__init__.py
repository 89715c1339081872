"""Tools and resources for models, by the Model Context Protocol."""
