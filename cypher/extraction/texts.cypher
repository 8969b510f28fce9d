// purpose: texts of sources of extraction
// params: ids
// since: 5.26
UNWIND $ids AS id
OPTIONAL MATCH (d:Document {id: id})
OPTIONAL MATCH (c:Chunk {id: id})
RETURN id, coalesce(d.text, c.text, '') AS text
