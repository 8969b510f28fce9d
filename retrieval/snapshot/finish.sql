-- What follows from all rows, once they are there.
CREATE UNIQUE INDEX sentence_id ON sentence (id);
INSERT INTO term (name, size, chunks)
  SELECT n.name, count(*), packed(c.id, c.row)
  FROM draft.naming n JOIN draft.chunk c ON c.row = n.chunk GROUP BY n.name
  ORDER BY n.name;
CREATE UNIQUE INDEX term_name ON term (name);
CREATE INDEX draft.naming_chunk ON naming (chunk);
INSERT INTO main.chunk
  SELECT c.*,
    (SELECT coalesce(packed(t.row, t.row), x'') FROM draft.naming n
     JOIN term t ON t.name = n.name WHERE n.chunk = c.row),
    (SELECT coalesce(packed(e.place, t.row), x'') FROM draft.edge e
     JOIN draft.chunk t ON t.id = e.target WHERE e.chunk = c.row),
    (SELECT coalesce(listed(e.place, e.target), '[]') FROM draft.edge e
     WHERE e.chunk = c.row)
  FROM draft.chunk c ORDER BY c.row;
CREATE UNIQUE INDEX chunk_id ON chunk (id);
CREATE INDEX chunk_document ON chunk (document);
INSERT INTO main.property
  SELECT DISTINCT * FROM draft.property ORDER BY name, kind, value, owner;
