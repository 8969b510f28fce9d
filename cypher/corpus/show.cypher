// purpose: what a corpus holds
// params: name
// since: 5.26
MATCH (k:Corpus {name: $name})
RETURN k.name AS name,
       COUNT { (k)<-[:IN_CORPUS]-(:Document) } AS documents,
       COUNT { (k)<-[:IN_CORPUS]-(:Document)<-[:FROM_DOCUMENT]-(:Chunk) } AS chunks,
       COUNT { MATCH (:Sentence {corpus: $name}) } AS sentences,
       COUNT { MATCH (:Theme {corpus: $name}) } AS themes,
       COUNT { MATCH (:Term {corpus: $name}) } AS terms,
       COUNT { MATCH (:Category {corpus: $name}) } AS categories,
       COUNT { MATCH (:Redirect {corpus: $name}) } AS redirects,
       COUNT { (k)<-[:IN_CORPUS]-(:Document)<-[:FROM_DOCUMENT]-(:Chunk)-[:SIMILAR_TO {scope: 'intra'}]->() } AS similarIntra,
       COUNT { (k)<-[:IN_CORPUS]-(:Document)<-[:FROM_DOCUMENT]-(:Chunk)-[:SIMILAR_TO {scope: 'inter'}]->() } AS similarInter,
       COUNT { (k)<-[:IN_CORPUS]-(:Document)-[:THEME_SIMILAR_TO]->() } AS themeSimilar,
       COUNT { (k)<-[:IN_CORPUS]-(:Document)-[:LINKS_TO]->() } AS links,
       COUNT { (k)<-[:IN_CORPUS]-(:Document)<-[:FROM_DOCUMENT]-(:Chunk)-[:MENTIONS]->() } AS mentions,
       COUNT { (k)<-[:IN_CORPUS]-(:Document)<-[:FROM_DOCUMENT]-(:Chunk)-[:NAMES]->() } AS names,
       properties(k) AS settings
