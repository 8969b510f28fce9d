"""The training run for the class archive; see `knowtrail.graph.server.install`.

Starts Neo4j with a throw-away database, applies and drops the schema over Bolt, and
leaves through Java's own exit, which writes the record. More statements would make
the first ones of a server faster, but the training longer than they save.
"""

from __future__ import annotations

import json
import sys

from knowtrail.graph.db.connection import Connection
from knowtrail.graph.db.schema import apply_schema, drop_schema
from knowtrail.graph.server.dbms import Dbms, DbmsSpec, choose_port, prepare_password
from knowtrail.graph.server.folder import ServerFolder
from knowtrail.graph.server.install import find_java, installed_jars, start_jvm
from knowtrail.graph.settings import Settings


def main() -> None:
    """Train in the folder that the first argument names."""
    from jpype import JClass

    specification = json.loads(sys.argv[1])
    folder = ServerFolder(specification["folder"])
    folder.create()
    start_jvm(
        find_java(),
        installed_jars(specification["version"]),
        [
            "-Xmx1g",
            "-XX:AOTMode=record",
            f"-XX:AOTConfiguration={folder.home / 'record'}",
            "-Xlog:aot*=off",
        ],
    )
    setup = DbmsSpec(root=folder.root, port=choose_port(None), page_cache="128m")
    prepare_password(folder, setup)
    dbms = Dbms.start(setup)
    settings = Settings(
        uri=f"bolt://127.0.0.1:{setup.port}", password=folder.read_password()
    )
    with Connection.open(settings) as connection:
        apply_schema(connection, dimensions=4)
        drop_schema(connection, data=True)
    dbms.stop()
    JClass("java.lang.System").exit(0)


if __name__ == "__main__":
    main()
