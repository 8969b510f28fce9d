// purpose: text, links, chunks and edges of documents
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (d:Document {id: id})
USING INDEX SEEK d:Document(id)
RETURN d.id AS id, d.title AS title, d.text AS text,
       d.linkTargets AS targets, d.linkStarts AS starts, d.linkEnds AS ends,
       COLLECT { MATCH (d)<-[:FROM_DOCUMENT]-(c:Chunk)
                 RETURN [c.id, c.startChar, c.endChar] ORDER BY c.index } AS chunks,
       COLLECT { MATCH (d)-[r:LINKS_TO]->(t:Document)
                 RETURN [t.id, r.anchor] ORDER BY t.id } AS links,
       COLLECT { MATCH (d)<-[:FROM_DOCUMENT]-(c:Chunk)-[m:MENTIONS]->(t:Document)
                 RETURN [c.id, t.id, m.anchor] ORDER BY c.index, t.id } AS mentions
