// purpose: outgoing relationships of documents that are replaced
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (x:Document {id: id})-[r:HAS_THEME|IN_CATEGORY|LINKS_TO|THEME_SIMILAR_TO]->()
USING INDEX SEEK x:Document(id)
DELETE r
