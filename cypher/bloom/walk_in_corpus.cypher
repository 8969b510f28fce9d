// purpose: walk for a question in one of several corpora now
// params: question, corpus
// since: 5.26
CALL knowtrail.traverse(
  'query_traversal', $question, {corpus: $corpus, record: false}
)
YIELD step, chunkId
WITH DISTINCT step, chunkId
ORDER BY step
WITH collect(chunkId) AS ids
UNWIND range(0, size(ids) - 1) AS i
MATCH visited = (c:Chunk {id: ids[i]})-[:FROM_DOCUMENT]->(:Document)
OPTIONAL MATCH hop = (c)-[:SIMILAR_TO]->(:Chunk {id: ids[i + 1]})
RETURN visited, hop
