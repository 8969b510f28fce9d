// purpose: store institutions
// params: rows
// since: 5.26
UNWIND $rows AS row
MERGE (c:Custodian {id: row.id})
SET c = row
