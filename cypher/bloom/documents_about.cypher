// purpose: documents that have a theme
// params: theme
// since: 5.26
MATCH about = (:Theme {name: $theme})<-[:HAS_THEME]-(:Document)
RETURN about
LIMIT 500
