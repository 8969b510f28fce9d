// purpose: store chunks of a corpus with their vectors, those that have one, and copies of what filters name of their documents, as schema/filter_copies does
// params: rows
// since: 5.26
OPTIONAL MATCH (k:Corpus {name: $rows[0].properties.corpus})
WITH [
  name IN coalesce(k.copied, [])
  WHERE name STARTS WITH 'document.' | substring(name, 9)
] AS copied
UNWIND $rows AS row
MATCH (d:Document {id: row.document})
USING INDEX SEEK d:Document(id)
MERGE (c:Chunk {id: row.properties.id})
SET c += row.properties
FOREACH (
  name IN copied |
  SET c['document_' + name] =
    CASE
      WHEN d[name] IS :: STRING NOT NULL AND size(d[name]) > 1000 THEN null
      WHEN d[name] IS :: LIST<ANY> NOT NULL THEN null
      ELSE d[name]
    END
)
MERGE (c)-[:FROM_DOCUMENT]->(d)
WITH collect([c, row.vector]) AS stored
UNWIND stored AS one
WITH one
WHERE one[1] IS NOT NULL
CALL db.create.setNodeVectorProperty(one[0], 'embedding', one[1])
