// purpose: the strongest similarities of some chunks
// params: ids, rank
// since: 5.26
UNWIND $ids AS id
MATCH (c:Chunk {id: id})
USING INDEX SEEK c:Chunk(id)
MATCH (c)-[r:SIMILAR_TO]->(n:Chunk)
WHERE r.rank <= $rank
RETURN c.id AS source, n.id AS target, r.score AS score, r.scope AS scope
