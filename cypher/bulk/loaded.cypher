// purpose: settings and state of a corpus that was loaded
// params: name, properties
// since: 5.26
MATCH (k:Corpus {name: $name})
SET k += $properties
