// purpose: some chunks, and the terms that they name or that have some names, with how many chunks name each and which of these do, by place
// params: corpus, ids, names
// since: 5.26
RETURN
  head(COLLECT {
    MATCH (k:Corpus {name: $corpus})
    RETURN coalesce(k.chunks, COUNT { (k)<-[:IN_CORPUS]-()<-[:FROM_DOCUMENT]-() })
  }) AS chunks,
  COLLECT {
    UNWIND range(0, size($ids) - 1) AS place
    MATCH (c:Chunk {id: $ids[place]})
    USING INDEX SEEK c:Chunk(id)
    RETURN [place, c.id, c.text, head([(c)-[:FROM_DOCUMENT]->(d) | d.title])]
  } AS found,
  COLLECT {
    UNWIND $names AS name
    MATCH (t:Term {corpus: $corpus, name: name})
    USING INDEX SEEK t:Term(corpus, name)
    WHERE EXISTS { (t)<-[:NAMES]-() }
    RETURN [t.name, COUNT { (t)<-[:NAMES]-() }, []]
  } + COLLECT {
    UNWIND range(0, size($ids) - 1) AS place
    MATCH (c:Chunk {id: $ids[place]})-[:NAMES]->(t:Term)
    USING INDEX SEEK c:Chunk(id)
    WITH t, collect(place) AS places
    RETURN [t.name, COUNT { (t)<-[:NAMES]-() }, places]
  } AS terms
