// @title: Everything that an extraction made up
// purpose: values that gold does not have, by record; the latest complete run where none is named
// params: run, field, limit
// since: 5.26
MATCH (r:EvalRun {kind: 'fields'})
WHERE ($run IS NULL AND r.status = 'complete') OR r.id = $run
WITH r
ORDER BY r.createdAt DESC, r.id
LIMIT 1
MATCH (r)-[:HAS_RECORD]->(e:EvalRecord)-[:HAS_FIELD]->(f:FieldResult)
WHERE f.status = 'hallucination'
  AND ($field IS NULL OR f.schemaPath = $field)
RETURN
  e.recordId AS record,
  f.path AS field,
  f.extracted AS extracted,
  f.reason AS reason,
  r.id AS run
ORDER BY e.index, field
LIMIT coalesce($limit, 100)
