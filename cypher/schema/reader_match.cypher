// purpose: let readers read a database
// params: database, role
// since: 5.26
GRANT MATCH {*} ON GRAPH $database TO $role
