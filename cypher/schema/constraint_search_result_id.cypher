// purpose: a SearchResult is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT search_result_id IF NOT EXISTS
FOR (n:SearchResult)
REQUIRE n.id IS UNIQUE
