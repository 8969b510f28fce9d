// purpose: replace the LINKS_TO of documents
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (d:Document {id: row.id})
USING INDEX SEEK d:Document(id)
OPTIONAL MATCH (d)-[old:LINKS_TO]->(:Document)
DELETE old
WITH DISTINCT d, row
UNWIND row.links AS link
MATCH (t:Document {id: link[0]})
USING INDEX SEEK t:Document(id)
MERGE (d)-[r:LINKS_TO]->(t)
SET r.anchor = link[1]
