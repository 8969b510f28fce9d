// purpose: sentences that support facts
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (f:Fact {id: row.fact})
MATCH (s:Sentence {id: row.sentence})
MERGE (f)-[r:SUPPORTED_BY]->(s)
SET r.score = row.score, r.rank = row.rank
