"""The database: connections, its schema, statements by name, locks."""
