// purpose: delete nodes with their relationships, by identity
// params: identities
// since: 5.26
UNWIND $identities AS identity
MATCH (n)
WHERE elementId(n) = identity
DETACH DELETE n
