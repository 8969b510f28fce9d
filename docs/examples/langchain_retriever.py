"""Ask the quick start's corpus through LangChain (run `knowtrail quickstart` first)."""

from __future__ import annotations

from knowtrail import KnowtrailRetriever

with KnowtrailRetriever.from_env(corpus="quickstart", k=4) as retriever:
    for document in retriever.invoke("How did sailors find their longitude at sea?"):
        print(f"{document.metadata['title']}: {document.page_content}")
