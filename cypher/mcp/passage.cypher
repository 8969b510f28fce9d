// purpose: the sentences of a chunk and of those before and after it
// params: chunk, before, after
// since: 5.26
MATCH (c:Chunk {id: $chunk})-[:FROM_DOCUMENT]->(:Document)
CALL (c) {
  MATCH p = (c)<-[:NEXT_CHUNK]-{0,50}(:Chunk)
  WHERE length(p) <= $before
  RETURN nodes(p)[-1] AS near
  UNION
  MATCH p = (c)-[:NEXT_CHUNK]->{0,50}(:Chunk)
  WHERE length(p) <= $after
  RETURN nodes(p)[-1] AS near
}
MATCH (near)-[:HAS_SENTENCE]->(s:Sentence)
WITH DISTINCT s
RETURN
  s.id AS id,
  s.index AS index,
  s.text AS text,
  s.startChar AS start_char,
  s.endChar AS end_char
ORDER BY index
