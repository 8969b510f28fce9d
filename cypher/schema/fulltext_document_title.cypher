// purpose: words of titles
// params: 
// since: 5.26
CREATE FULLTEXT INDEX document_title IF NOT EXISTS
FOR (d:Document)
ON EACH [d.title]
