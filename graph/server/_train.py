"""The training run for the class archive; see `graph.server.archive`.

Starts Neo4j with a throw-away database, sends it statements of the kinds that
Knowtrail sends, over Bolt, and leaves through Java's own exit, which writes the record.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from graph.server.dbms import Dbms, DbmsSpec, choose_port, prepare_password
from graph.server.folder import USERNAME, ServerFolder
from graph.server.install import installed_jars
from graph.server.java import find_java
from graph.server.jvm import start_jvm

__all__ = ["main"]

STATEMENTS = (
    "CREATE CONSTRAINT chunk_id IF NOT EXISTS FOR (c:Chunk) REQUIRE c.id IS UNIQUE",
    "CREATE FULLTEXT INDEX chunk_text IF NOT EXISTS FOR (c:Chunk) ON EACH [c.text]",
    "CREATE VECTOR INDEX chunk_embedding IF NOT EXISTS FOR (c:Chunk) ON c.embedding "
    "OPTIONS {indexConfig: {`vector.dimensions`: 4, "
    "`vector.similarity_function`: 'cosine'}}",
    "CALL db.awaitIndexes(60)",
    "UNWIND range(1, 200) AS i MERGE (c:Chunk {id: toString(i)}) "
    "SET c.text = 'word ' + i, c.index = i "
    "WITH c, i CALL db.create.setNodeVectorProperty"
    "(c, 'embedding', [1.0, toFloat(i), 2.0, 3.0])",
    "UNWIND range(1, 199) AS i MATCH (a:Chunk {id: toString(i)}) "
    "MATCH (b:Chunk {id: toString(i + 1)}) MERGE (a)-[r:SIMILAR_TO]->(b) "
    "SET r.score = 0.5, r.rank = i",
    "MATCH (a:Chunk)-[r:SIMILAR_TO]->(b:Chunk) "
    "RETURN a.id AS id, count(*) AS n, collect(b.embedding) AS v ORDER BY n, id LIMIT 5",
    "CALL db.index.vector.queryNodes('chunk_embedding', 5, [1.0, 2.0, 3.0, 4.0]) "
    "YIELD node, score RETURN node.id AS id, score",
    "CALL db.index.fulltext.queryNodes('chunk_text', 'word') YIELD node, score "
    "RETURN node.id AS id, score LIMIT 5",
    "MATCH (c:Chunk) DETACH DELETE c",
)


def main() -> None:
    """Train in the folder that the first argument names."""
    import neo4j
    from jpype import JClass

    specification = json.loads(sys.argv[1])
    folder = ServerFolder(Path(specification["folder"]))
    folder.create()
    start_jvm(
        find_java(),
        installed_jars(specification["version"]),
        [
            "-Xmx1g",
            "-XX:AOTMode=record",
            f"-XX:AOTConfiguration={folder.home / 'record'}",
            "-Xlog:aot=off",
        ],
    )
    setup = DbmsSpec(
        root=folder.root,
        version=specification["version"],
        port=choose_port(None),
        page_cache="128m",
    )
    prepare_password(folder, setup)
    dbms = Dbms.start(setup)
    with neo4j.GraphDatabase.driver(
        f"bolt://127.0.0.1:{setup.port}", auth=(USERNAME, folder.read_password() or "")
    ) as driver:
        for text in STATEMENTS:
            driver.execute_query(text, database_="neo4j")
    dbms.stop()
    JClass("java.lang.System").exit(0)


if __name__ == "__main__":
    main()
