// purpose: connect records of an evaluation with the extractions and walks they judge
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (e:EvalRecord {id: row.record})
CALL (row) {
  MATCH (x:Extraction {id: row.judged})
  RETURN x
  UNION
  MATCH (x:Traversal {id: row.judged})
  RETURN x
}
MERGE (e)-[:JUDGES]->(x)
