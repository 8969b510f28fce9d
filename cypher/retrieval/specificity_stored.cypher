// purpose: classes of the ontology as they are stored
// params: uris
// since: 5.26
UNWIND $uris AS uri
MATCH (o:OntologyClass {uri: uri})
RETURN properties(o) AS held
