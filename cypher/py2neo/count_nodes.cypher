// purpose: how many of some nodes are stored
// params: identities
// since: 5.26
UNWIND $identities AS identity
MATCH (n)
WHERE elementId(n) = identity
RETURN count(n) AS found
