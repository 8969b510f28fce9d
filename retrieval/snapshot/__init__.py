"""Snapshots: read-only copies of a corpus's vectors and edges, mapped into memory."""
