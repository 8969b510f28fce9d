// purpose: keep the folder that the ids of a corpus' files are paths in
// params: name, root
// since: 5.26
MATCH (k:Corpus {name: $name})
SET k.filesRoot = $root
