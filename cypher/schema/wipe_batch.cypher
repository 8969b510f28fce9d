// purpose: delete some of our nodes
// params: limit
// since: 5.26
MATCH
  (n:Corpus|Document|Chunk|Sentence|Theme|Term|Category|Redirect|Query|Traversal|Step|Extraction|Fact|Gap|Concept|Entity|SearchResult|Battle|OntologyClass|Custodian|Conversation|Turn|EvalRun|EvalRecord|FieldResult|Metric)
WITH n
LIMIT $limit
DETACH DELETE n
RETURN count(*) AS deleted
