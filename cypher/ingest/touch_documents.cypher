// purpose: documents whose edges changed in this version
// params: ids, version
// since: 5.26
UNWIND $ids AS id
MATCH (d:Document {id: id})
USING INDEX SEEK d:Document(id)
WHERE coalesce(d.corpusVersion, -1) <> $version
SET d.corpusVersion = $version
