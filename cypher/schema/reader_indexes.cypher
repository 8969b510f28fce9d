// purpose: let readers see which indexes there are
// params: database, role
// since: 5.26
GRANT SHOW INDEX ON DATABASE $database TO $role
