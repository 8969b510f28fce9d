"""The graph itself: settings, connection, schema, model providers, local server."""
