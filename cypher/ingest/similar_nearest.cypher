// purpose: chunks of other documents that the vector index finds nearest to each of some
// params: corpus, ids, fetch
// since: 5.26
UNWIND $ids AS id
MATCH (c:Chunk {id: id})-[:FROM_DOCUMENT]->(d:Document)
USING INDEX SEEK c:Chunk(id)
CALL (c, d) {
  CALL db.index.vector.queryNodes('chunk_embedding', $fetch, c.embedding)
  YIELD node
  WHERE node.corpus = $corpus AND NOT EXISTS { (node)-[:FROM_DOCUMENT]->(d) }
  RETURN collect(node.id) AS nearest
}
RETURN id, nearest
