// purpose: whole documents with what their source said of them
// params: ids, reserved
// since: 5.26
UNWIND $ids AS id
MATCH (d:Document {id: id})
USING INDEX SEEK d:Document(id)
RETURN
  d.id AS id,
  d.sourceId AS sourceId,
  d.title AS title,
  d.url AS url,
  d.source AS source,
  d.text AS text,
  [name IN keys(d) WHERE NOT name IN $reserved | [name, d[name]]] AS given
