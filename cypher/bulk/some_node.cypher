// purpose: a node that is not the schema's own, if there is one
// params:
// since: 5.26
MATCH (n)
WHERE NOT n:SchemaVersion
RETURN 1 AS found
LIMIT 1
