"""Door four: tools for agents over the Model Context Protocol.

Imported by `knowtrail mcp` alone; needs the extra `mcp`.
"""
