// purpose: store the scores of the classes of the ontology
// params: rows
// since: 5.26
UNWIND $rows AS row
MERGE (o:OntologyClass {uri: row.uri})
  ON CREATE SET o.id = row.uri
SET o += row
