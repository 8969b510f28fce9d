"""Door three: the procedures over HTTP, for stock servers and any other client.

Imported by `knowtrail serve` alone; `knowtrail.retrieval.serve.app` needs the extra
`serve`.
"""
