// purpose: delete some extractions of a corpus, with all they say
// params: name, limit
// since: 5.26
MATCH (n:Extraction|Fact|Gap|Concept|Entity|SearchResult {corpus: $name})
WITH n
LIMIT $limit
DETACH DELETE n
