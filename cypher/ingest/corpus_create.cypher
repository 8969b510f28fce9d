// purpose: store a new corpus with its settings
// params: name, properties
// since: 5.26
MERGE (k:Corpus {name: $name})
  ON CREATE SET k += $properties, k.createdAt = datetime()
