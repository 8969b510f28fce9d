// purpose: replace the THEME_SIMILAR_TO of documents
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (a:Document {id: row.id})
USING INDEX SEEK a:Document(id)
OPTIONAL MATCH (a)-[old:THEME_SIMILAR_TO]->(:Document)
DELETE old
WITH DISTINCT a, row
UNWIND range(0, size(row.targets) - 1) AS rank
MATCH (b:Document {id: row.targets[rank]})
USING INDEX SEEK b:Document(id)
CREATE (a)-[:THEME_SIMILAR_TO {score: row.scores[rank], rank: rank + 1}]->(b)
