// purpose: the chunks that a chunk is most similar to, in its document and in others
// params: chunk, limit
// since: 5.26
MATCH (:Chunk {id: $chunk})-[r:SIMILAR_TO]->(o:Chunk)-[:FROM_DOCUMENT]->(d:Document)
RETURN
  round(r.score, 3) AS score,
  d.title AS title,
  o.index AS index,
  o.text AS text,
  r.scope AS scope,
  o.id AS chunk
ORDER BY r.score DESC, chunk
LIMIT $limit
