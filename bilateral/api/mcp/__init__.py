"""Tools and resources for models, using the Model Context Protocol."""
