"""Write the list of jars of a Neo4j version, when a new one is adopted.

Run as `python -m tests.neo4j_jars 2026.08.1`: resolves it through jgo, fetches every
jar, checks it against the sum that the repository states, and writes
`graph/server/jars/VERSION.txt` with SHA-256 sums.
"""

from __future__ import annotations

import sys
import tempfile
from hashlib import sha256
from pathlib import Path

from knowtrail.graph.server.install import check_version, fetch_jars, resolve_jars


def main() -> None:
    """Write the list of the version that the first argument names."""
    version = check_version(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jars = resolve_jars(version, folder / "descriptions")
        fetch_jars(version, jars, folder)
        lines = []
        for jar in jars:
            digest = sha256((folder / jar.name).read_bytes()).hexdigest()
            parts = (jar.group, jar.artifact, jar.version, jar.classifier)
            lines.append(f"{digest} {':'.join(filter(None, parts))}\n")
    jars_folder = Path(__file__).resolve().parents[1] / "graph" / "server" / "jars"
    target = jars_folder / f"{version}.txt"
    target.write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main()
