// purpose: what a corpus is about, told from a sample of its documents
// params: name, sample, most
// since: 5.26
MATCH (k:Corpus {name: $name})
RETURN
  COUNT { (k)<-[:IN_CORPUS]-(:Document) } AS documents,
  COLLECT {
    MATCH (k)<-[:IN_CORPUS]-(d:Document)
    WITH d LIMIT $sample
    WITH d.language AS language, count(*) AS found
    WHERE language IS NOT NULL
    RETURN language ORDER BY found DESC, language LIMIT $most
  } AS languages,
  COLLECT {
    MATCH (k)<-[:IN_CORPUS]-(d:Document)
    WITH d LIMIT $sample
    MATCH (d)-[:HAS_THEME]->(t:Theme)
    WITH t.name AS theme, count(*) AS found
    RETURN theme ORDER BY found DESC, theme LIMIT $most
  } AS themes,
  COLLECT {
    MATCH (k)<-[:IN_CORPUS]-(d:Document)
    WITH d LIMIT $sample
    MATCH (d)-[:IN_CATEGORY]->(c:Category)
    WITH c.name AS category, count(*) AS found
    RETURN category ORDER BY found DESC, category LIMIT $most
  } AS categories,
  COLLECT {
    MATCH (k)<-[:IN_CORPUS]-(d:Document)
    WITH d LIMIT $sample
    RETURN d.title ORDER BY d.title LIMIT $most
  } AS titles,
  EXISTS { MATCH (:Custodian {corpus: $name}) } AS institutions
