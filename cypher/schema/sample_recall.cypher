// purpose: how many of the nearest chunks the vector index and the stored edges have, for a sample of a corpus; every vector is read once
// params: corpus, sample, fetch, hits, top
// since: 5.26
MATCH (k:Corpus {name: $corpus})
CALL (k) {
  MATCH (k)<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(c:Chunk)
  WHERE c.embedding IS NOT NULL
  RETURN d, c
  ORDER BY c.id
  LIMIT $sample
}
CALL (c) {
  CALL db.index.vector.queryNodes('chunk_embedding', $fetch, c.embedding)
  YIELD node
  WITH vector.similarity.cosine(node.embedding, c.embedding) AS score
  ORDER BY score DESC
  LIMIT $hits
  WITH score
  ORDER BY score
  RETURN collect(score) AS near
}
CALL (c) {
  MATCH (c)-[:SIMILAR_TO {scope: 'inter'}]->(n:Chunk)
  WITH DISTINCT n
  WITH 2 * vector.similarity.cosine(n.embedding, c.embedding) - 1 AS score
  ORDER BY score
  RETURN collect(score) AS edges
}
WITH k.interThreshold + 0.00001 AS threshold, d, c, near, edges
WITH
  threshold,
  collect({
    document: d,
    vector: c.embedding,
    near: near,
    edges: edges,
    nearer: CASE WHEN size(near) < $hits THEN 0 ELSE near[0] - 0.00001 END,
    linked: CASE
      WHEN size(edges) < $top OR edges[0] < threshold THEN threshold
      ELSE edges[0] - 0.00001
    END
  }) AS sample
MATCH (n:Chunk)
WHERE n.embedding IS NOT NULL
WITH
  threshold,
  sample,
  n.embedding AS vector,
  n.corpus = $corpus AS inside,
  [(n)-[:FROM_DOCUMENT]->(e) | e] AS documents
UNWIND range(0, size(sample) - 1) AS i
WITH
  threshold,
  sample,
  i,
  inside AND NOT sample[i].document IN documents AS other,
  vector.similarity.cosine(vector, sample[i].vector) AS score
WITH
  threshold,
  sample,
  i,
  collect(CASE WHEN score >= sample[i].nearer THEN score END) AS near,
  collect(
    CASE WHEN other AND 2 * score - 1 >= sample[i].linked THEN 2 * score - 1 END
  ) AS edges
WITH
  sample[i] AS stored,
  COLLECT {
    UNWIND near AS score
    RETURN score
    ORDER BY score DESC
    LIMIT $hits
  } AS near,
  COLLECT {
    UNWIND edges AS score
    WITH score
    WHERE score >= threshold
    RETURN score
    ORDER BY score DESC
    LIMIT $top
  } AS edges
RETURN
  count(*) AS sample,
  sum(size(edges)) AS edges,
  sum(size([score IN stored.edges WHERE score >= edges[-1] - 0.00001][..$top])) AS edgesFound,
  sum(size(near)) AS near,
  sum(size([score IN stored.near WHERE score >= near[-1] - 0.00001])) AS nearFound
