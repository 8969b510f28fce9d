// purpose: names of the classes that institutions are instances of, and of the schema
// params:
// since: 5.26
MATCH (o:OntologyClass)
WHERE o.name IS NOT NULL
RETURN DISTINCT o.name AS name
ORDER BY name
