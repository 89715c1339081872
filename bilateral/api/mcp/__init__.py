"""Tools and resources for models, through the Model Context Protocol."""
