// purpose: THEME_SIMILAR_TO of documents
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (x:Document {id: id})-[r:THEME_SIMILAR_TO]->(b:Document)
USING INDEX SEEK x:Document(id)
WITH id, r.rank AS rank, b.id AS target, r.score AS score
ORDER BY id, rank
RETURN id, collect(target) AS targets, collect(score) AS scores, collect(rank) AS ranks
