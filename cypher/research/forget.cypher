// purpose: what research found in documents that are replaced or deleted, with the claims and verdicts drawn from it
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (x:Document {id: id})<-[:FROM_DOCUMENT]-(:Chunk)-[:HAS_SENTENCE]->(s:Sentence)
USING INDEX SEEK x:Document(id)
MATCH (s)<-[:SUPPORTED_BY]-(f:Finding)
OPTIONAL MATCH (f)<-[:DRAWN_FROM]-(c:Claim)
OPTIONAL MATCH (c)-[:HAS_VERDICT]->(v:Verdict)
WITH collect(DISTINCT f) + collect(DISTINCT c) + collect(DISTINCT v) AS gone
UNWIND gone AS node
DETACH DELETE node
