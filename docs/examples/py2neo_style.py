"""Walk a stored traversal as py2neo scripts do (run `knowtrail quickstart` first)."""

from __future__ import annotations

import sys

from knowtrail.graph.py2neo import Graph, Path, Table

CORPUS = "quickstart"
QUESTION = "How did sailors find their longitude at sea?"

graph = Graph()  # NEO4J_URI and its like, or the managed local server

corpus = graph.nodes.match("Corpus", name=CORPUS).first()
if corpus is None:
    sys.exit("There is no such corpus: run `knowtrail quickstart` first.")
documents = graph.match((None, corpus), "IN_CORPUS").count()
print(f"Corpus {corpus['name']}: {documents} documents")

stored = graph.nodes.match("Traversal", corpus=CORPUS).order_by("_.createdAt DESC")
if not stored:  # the managed server walks by itself, and keeps the walk
    graph.call.knowtrail.traverse("query_traversal", QUESTION, {"corpus": CORPUS})
traversal = stored.first()
if traversal is None:
    sys.exit("No walk is stored: run `knowtrail traverse QUESTION` first.")
asked = graph.match_one((traversal,), "FOR_QUERY")
print(f"{traversal['algorithm']}: {asked.end_node['text'] if asked else ''}")

walked = Path(traversal)
edge = graph.match_one((traversal,), "FIRST_STEP")
while edge is not None:
    walked = walked + edge
    edge = graph.match_one((edge.end_node,), "NEXT_STEP")

rows = []
for step in walked.nodes[1:]:
    picked = graph.match((step,), "PICKED").order_by("_.rank")
    found = " ".join(edge.end_node["text"] for edge in picked)
    rows.append([
        step["index"],
        step["hop"],
        step["title"],
        round(step["score"], 3),
        found,
    ])

table = Table(rows, keys=["step", "hop", "document", "score", "found"])
table.write(header=True, newline="\n")
