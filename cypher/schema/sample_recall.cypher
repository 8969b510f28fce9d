// purpose: how many of the nearest chunks the vector index and the stored edges have, for a sample of a corpus
// params: corpus, sample, hits, top
// since: 5.26
MATCH (k:Corpus {name: $corpus})
CALL (k) {
  MATCH (k)<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(c:Chunk)
  WHERE c.embedding IS NOT NULL
  RETURN d, c
  ORDER BY c.id
  LIMIT $sample
}
WITH k, d, c
CALL (k, d, c) {
  MATCH (k)<-[:IN_CORPUS]-(e:Document)<-[:FROM_DOCUMENT]-(n:Chunk)
  WHERE e <> d
  WITH k, 2 * vector.similarity.cosine(n.embedding, c.embedding) - 1 AS score
  ORDER BY score DESC
  LIMIT $top
  WITH k, score
  WHERE score >= k.interThreshold + 0.00001
  RETURN count(score) AS edges, min(score) AS least
}
CALL (c, least) {
  MATCH (c)-[r:SIMILAR_TO {scope: 'inter'}]->(:Chunk)
  WHERE r.score >= least - 0.00001
  RETURN count(r) AS edgesFound
}
CALL (c) {
  MATCH (n:Chunk)
  WHERE n.embedding IS NOT NULL
  WITH vector.similarity.cosine(n.embedding, c.embedding) AS score
  ORDER BY score DESC
  LIMIT $hits
  RETURN count(score) AS near, min(score) AS floor
}
CALL (c, floor) {
  CALL db.index.vector.queryNodes('chunk_embedding', $hits, c.embedding)
  YIELD node
  WITH node
  WHERE vector.similarity.cosine(node.embedding, c.embedding) >= floor - 0.00001
  RETURN count(node) AS nearFound
}
RETURN
  count(c) AS sample,
  sum(edges) AS edges,
  sum(CASE WHEN edgesFound < edges THEN edgesFound ELSE edges END) AS edgesFound,
  sum(near) AS near,
  sum(nearFound) AS nearFound
