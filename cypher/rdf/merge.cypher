// purpose: store nodes of the label LABEL, found by the property KEY, where they are not as the rows say, and return their corpora
// params: rows
// since: 5.26
UNWIND $rows AS row
MERGE (n:`LABEL` {`KEY`: row.key})
WITH n, row
WHERE any(p IN keys(row.properties) WHERE n[p] IS NULL
    OR (n[p] <> row.properties[p]
      AND NOT (n[p] <> n[p] AND row.properties[p] <> row.properties[p]))
    OR valueType(n[p]) <> valueType(row.properties[p]))
  OR any(l IN row.labels WHERE NOT l IN labels(n))
  OR any(v IN row.vectors WHERE coalesce(n[v.name] <> v.vector, true))
SET n += row.properties
SET n:$(row.labels)
WITH n, row
CALL (n, row) {
  UNWIND row.vectors AS v
  CALL db.create.setNodeVectorProperty(n, v.name, v.vector)
}
RETURN DISTINCT CASE WHEN n:Corpus THEN n.name ELSE n.corpus END AS corpus
