// purpose: what the source of documents said of them, and their ids there
// params: ids, reserved
// since: 5.26
UNWIND $ids AS id
MATCH (d:Document {id: id})
RETURN
  d.id AS id,
  d.sourceId AS sourceId,
  [name IN keys(d) WHERE NOT name IN $reserved | [name, d[name]]] AS given
