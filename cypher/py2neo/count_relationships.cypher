// purpose: how many of some relationships are stored
// params: identities
// since: 5.26
UNWIND $identities AS identity
MATCH ()-[r]->()
WHERE elementId(r) = identity
RETURN count(r) AS found
