// purpose: store results of a web search
// params: rows
// since: 5.26
UNWIND $rows AS row
MERGE (n:SearchResult {id: row.id})
SET n = row
