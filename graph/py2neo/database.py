"""What py2neo has in `py2neo.database`: services, graphs and transactions."""

from __future__ import annotations

from graph.py2neo.errors import TransactionFinished
from graph.py2neo.graph import Graph, SystemGraph
from graph.py2neo.schema import Schema
from graph.py2neo.services import GraphService
from graph.py2neo.transactions import Transaction

__all__ = [
    "Graph",
    "GraphService",
    "Schema",
    "SystemGraph",
    "Transaction",
    "TransactionFinished",
]
