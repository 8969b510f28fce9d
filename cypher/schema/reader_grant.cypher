// purpose: make a user a reader
// params: name, role
// since: 5.26
GRANT ROLE $role TO $name
