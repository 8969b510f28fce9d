// purpose: terms that some chunks name, and those of some names, with how many chunks name each
// params: corpus, ids, names
// since: 5.26
RETURN
  head(COLLECT {
    MATCH (k:Corpus {name: $corpus})
    RETURN coalesce(k.chunks, COUNT { (k)<-[:IN_CORPUS]-()<-[:FROM_DOCUMENT]-() })
  }) AS chunks,
  COLLECT {
    UNWIND $names AS name
    MATCH (t:Term {corpus: $corpus, name: name})
    USING INDEX SEEK t:Term(corpus, name)
    WHERE EXISTS { (t)<-[:NAMES]-() }
    RETURN [t.name, COUNT { (t)<-[:NAMES]-() }]
    UNION
    UNWIND $ids AS id
    MATCH (c:Chunk {id: id})-[:NAMES]->(t:Term)
    USING INDEX SEEK c:Chunk(id)
    WITH DISTINCT t
    RETURN [t.name, COUNT { (t)<-[:NAMES]-() }]
  } AS terms,
  COLLECT {
    UNWIND $ids AS id
    MATCH (c:Chunk {id: id})
    USING INDEX SEEK c:Chunk(id)
    RETURN [c.id, c.text, COLLECT { MATCH (c)-[:NAMES]->(t:Term) RETURN t.name }]
  } AS named
