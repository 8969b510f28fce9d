// purpose: name and version of the server's parts
// params:
// since: 5.26
CALL dbms.components()
YIELD name, versions, edition
RETURN name, versions[0] AS version, edition
