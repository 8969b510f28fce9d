"""The process of Neo4j's own admin tool, in a virtual machine of its own.

Run as `python -m knowtrail.graph.server._admin SPEC` by `loading`, SPEC in JSON.
Standard input is a pipe from the starter: however that ends, this process ends too.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

from knowtrail.graph.server.install import (
    find_java,
    import_jars,
    installed_jars,
    start_jvm,
)


def main() -> None:
    """Do what the first argument names, and exit with the tool's code."""
    threading.Thread(target=_end_with_starter, daemon=True).start()
    from jpype import JClass

    spec = json.loads(sys.argv[1])
    jars = installed_jars(spec["version"]) + import_jars(spec["version"])
    start_jvm(find_java(), jars, [f"-Xmx{spec['heap']}"])
    path = JClass("java.nio.file.Path").of
    home = Path(spec["home"])
    context = JClass("org.neo4j.cli.ExecutionContext")(
        path(str(home)), path(str(home / "conf"))
    )
    code = JClass("org.neo4j.cli.AdminTool").execute(context, spec["words"])
    sys.stdout.flush()
    os._exit(int(code))


def _end_with_starter() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
