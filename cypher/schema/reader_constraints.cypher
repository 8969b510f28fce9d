// purpose: let readers see which constraints there are
// params: database, role
// since: 5.26
GRANT SHOW CONSTRAINT ON DATABASE $database TO $role
