"""Tools and resources for models, which the service provides through the Model Context Protocol."""
