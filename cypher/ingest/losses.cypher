// purpose: note at chunks the least score among their neighbours, before some of these go
// params: ids, kept
// since: 5.26
UNWIND $ids AS id
MATCH (x:Document {id: id})-[:IN_CORPUS]->(k:Corpus)
USING INDEX SEEK x:Document(id)
MATCH (x)<-[:FROM_DOCUMENT]-(gone:Chunk)
WHERE NOT gone.id IN $kept
MATCH (gone)<-[:SIMILAR_TO {scope: 'inter'}]-(c:Chunk)
WHERE c.similarLost IS NULL
WITH DISTINCT k, c
CALL (c) {
  MATCH (c)-[r:SIMILAR_TO {scope: 'inter'}]->(:Chunk)
  RETURN count(r) AS kept, min(r.score) AS least
}
SET c.similarLost = CASE WHEN kept < k.interTopX THEN -2.0 ELSE least END
