"""The command line: its root, the commands of the graph, tables and progress."""
