// purpose: every recorded walk of a question, down to the documents
// params: question
// since: 5.26
MATCH asked = (:Query {text: $question})<-[:FOR_QUERY]-(t:Traversal)
OPTIONAL MATCH walked = (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)
OPTIONAL MATCH visited = (s)-[:VISITED]->(:Chunk)-[:FROM_DOCUMENT]->(:Document)
RETURN asked, walked, visited
