// purpose: relationships of nodes, node by node in their order; of a corpus only those within it
// params: names, corpus
// since: 5.26
UNWIND range(0, size($names) - 1) AS i
MATCH (a) WHERE elementId(a) = $names[i]
MATCH (a)-[r]->(b)
WHERE $corpus IS NULL OR b.corpus = $corpus OR b:Corpus AND b.name = $corpus
   OR a:Custodian AND b:OntologyClass
RETURN i, type(r) AS t, elementId(r) AS e, properties(r) AS p,
       labels(b) AS l, b.id AS id, b.name AS name, b.uri AS uri
ORDER BY i
