// purpose: text, links and chunks of documents
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (d:Document {id: id})
USING INDEX SEEK d:Document(id)
RETURN d.id AS id, d.title AS title, d.text AS text, d.linkTargets AS targets,
       COLLECT { MATCH (d)<-[:FROM_DOCUMENT]-(c:Chunk)
                 RETURN [c.id, c.startChar, c.endChar] ORDER BY c.index } AS chunks
