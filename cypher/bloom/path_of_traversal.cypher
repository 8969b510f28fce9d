// purpose: a recorded walk with its question, its steps and what they visited
// params: traversal
// since: 5.26
MATCH asked = (t:Traversal {id: $traversal})-[:FOR_QUERY]->(:Query)
OPTIONAL MATCH walked = (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)
OPTIONAL MATCH visited = (s)-[:VISITED]->(:Chunk)-[:FROM_DOCUMENT]->(:Document)
RETURN asked, walked, visited
