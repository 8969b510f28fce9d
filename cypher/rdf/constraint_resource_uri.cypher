// purpose: one node for each IRI of others, by the name that neosemantics asks for
// params:
// since: 5.26
CREATE CONSTRAINT n10s_unique_uri IF NOT EXISTS
FOR (r:Resource) REQUIRE r.uri IS UNIQUE
