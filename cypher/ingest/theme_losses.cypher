// purpose: remove edges by themes to documents that go or change, and note the least score there was
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (x:Document {id: id})-[:IN_CORPUS]->(k:Corpus)
USING INDEX SEEK x:Document(id)
MATCH (x)<-[gone:THEME_SIMILAR_TO]-(d:Document)
WITH k, d, collect(gone) AS going
CALL (d) {
  MATCH (d)-[r:THEME_SIMILAR_TO]->(:Document)
  RETURN count(r) AS kept, min(r.score) AS least
}
SET d.themeLost = coalesce(d.themeLost, CASE WHEN kept < k.themeTop THEN -2.0 ELSE least END)
WITH going
UNWIND going AS gone
DELETE gone
