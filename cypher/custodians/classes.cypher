// purpose: classes that institutions belong to; a class that is stored stays as it is
// params: rows
// since: 5.26
UNWIND $rows AS row
MERGE (o:OntologyClass {id: row.uri})
ON CREATE SET o.name = row.name, o.uri = row.uri
