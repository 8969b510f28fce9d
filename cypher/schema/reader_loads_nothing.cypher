// purpose: keep readers from files and addresses, which all may load from
// params: role
// since: 5.26
DENY LOAD ON ALL DATA TO $role
