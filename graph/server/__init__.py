"""The managed local server: a real Neo4j in a process of its own.

`join_server` joins the server of a folder, or starts one, and holds it by a lease;
the last lease to close stops a server that was not started to stay.

```
home/server/            0700
├── password            0600, random, one line
├── server.json         address and process of the running server
├── folder.json         the Neo4j version that wrote the data, and its last port
├── server.log          what the server process and Neo4j say
├── conf/neo4j.conf     written at every start
├── import/             what LOAD CSV may read by file:///, at first nothing
├── data/, logs/        Neo4j's own
└── *.lock              see graph.server.folder
```
"""
