"""Tools and resources for models, available through the Model Context Protocol."""
