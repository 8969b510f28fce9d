"""What py2neo has in `py2neo.data`: nodes, relationships, subgraphs and paths."""

from __future__ import annotations

from graph.py2neo.entities import Entity, Node
from graph.py2neo.errors import UniquenessError
from graph.py2neo.relationships import Relationship
from graph.py2neo.subgraphs import Subgraph
from graph.py2neo.walkables import Path, Walkable, walk

__all__ = [
    "Entity",
    "Node",
    "Path",
    "Relationship",
    "Subgraph",
    "UniquenessError",
    "Walkable",
    "walk",
]
