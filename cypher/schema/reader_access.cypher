// purpose: let readers into a database
// params: database, role
// since: 5.26
GRANT ACCESS ON DATABASE $database TO $role
