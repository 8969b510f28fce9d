// purpose: a Corpus is found by its name
// params: 
// since: 5.26
CREATE CONSTRAINT corpus_name IF NOT EXISTS
FOR (n:Corpus)
REQUIRE n.name IS UNIQUE
