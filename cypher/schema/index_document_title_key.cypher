// purpose: documents of a title, for links
// params: 
// since: 5.26
CREATE INDEX document_title_key IF NOT EXISTS
FOR (d:Document)
ON (d.corpus, d.titleKey)
