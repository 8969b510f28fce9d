"""A driver in the manner of py2neo, over the official one: change the import.

```python
from graph.py2neo import Graph, Node, Relationship  # was: from py2neo import ...
```

Made from py2neo's handbook; `docs/how-to/py2neo.md` says what is the same, what
differs, and what is not there.
"""

from __future__ import annotations

from graph.py2neo.cursors import Cursor
from graph.py2neo.data import (
    Entity,
    Node,
    Path,
    Relationship,
    Subgraph,
    UniquenessError,
    Walkable,
    walk,
)
from graph.py2neo.database import (
    Graph,
    GraphService,
    SystemGraph,
    Transaction,
    TransactionFinished,
)
from graph.py2neo.errors import (
    AuthenticationError,
    ClientError,
    ConnectionBroken,
    ConnectionLimit,
    ConnectionUnavailable,
    DatabaseError,
    Neo4jError,
    ProtocolError,
    ServiceUnavailable,
    TransientError,
    UnsupportedValueError,
    WriteServiceUnavailable,
)
from graph.py2neo.profiles import ConnectionProfile, ServiceProfile
from graph.py2neo.records import Record

__all__ = [
    "AuthenticationError",
    "ClientError",
    "ConnectionBroken",
    "ConnectionLimit",
    "ConnectionProfile",
    "ConnectionUnavailable",
    "Cursor",
    "DatabaseError",
    "Entity",
    "Graph",
    "GraphService",
    "Neo4jError",
    "Node",
    "Path",
    "ProtocolError",
    "Record",
    "Relationship",
    "ServiceProfile",
    "ServiceUnavailable",
    "Subgraph",
    "SystemGraph",
    "Transaction",
    "TransactionFinished",
    "TransientError",
    "UniquenessError",
    "UnsupportedValueError",
    "Walkable",
    "WriteServiceUnavailable",
    "walk",
]
