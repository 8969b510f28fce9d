"""Small graphs with everything that the RDF mapping has to settle."""

from __future__ import annotations

ODD = """
CREATE (k:Corpus {name: 'tales of ü', dims: 3})
CREATE (d1:Document {id: 'd/1', corpus: 'tales of ü', title: 'Fox',
  aliases: ['b', 'a', 'b'], n: 5, x: 5.0, big: 0.1, inf: 1.0 / 0, nan: 0.0 / 0,
  at: datetime('2024-01-01T10:00:00Z'), dur: duration('P1Y14M3DT4H'),
  embedding: [0.5, 0.25], `page number`: 3, flag: true, `1x`: 'q',
  point: point({x: 1.0, y: 2.0}), years: [1999, 2001]})-[:IN_CORPUS]->(k)
CREATE (d2:Document {id: 'd2', corpus: 'tales of ü', title: 'Owl', name: 'other', n: 7,
  themeEmbedding: [0.1, 0.2], aliases: [], day: date('2024-02-29'), one: ['x'],
  at: datetime('2024-01-01T10:00:00.123456789[Europe/Paris]')})-[:IN_CORPUS]->(k)
CREATE (c1:Chunk {id: 'c1', corpus: 'tales of ü', text: 'Foxes "hunt"\\nat night',
  startChar: 0, endChar: 9, index: 0})-[:FROM_DOCUMENT]->(d1)
CREATE (c2:Chunk {id: 'c2', corpus: 'tales of ü', text: 'An owl', startChar: 0,
  endChar: 6, index: 1})-[:FROM_DOCUMENT]->(d1)
CREATE (c3:Chunk {id: 'c3', corpus: 'tales of ü', text: 'Owls', startChar: 0,
  endChar: 4, index: 0})-[:FROM_DOCUMENT]->(d2)
CREATE (c1)-[:SIMILAR_TO {score: 0.9, rank: 1}]->(c3),
  (c1)-[:SIMILAR_TO {score: 0.8, rank: 2}]->(c3),
  (c1)-[:SIMILAR_TO {score: 0.9, rank: 1}]->(c3),
  (c2)-[:SIMILAR_TO {score: 0.7, rank: 1}]->(c3),
  (c1)-[:NEXT_CHUNK]->(c2), (c2)-[:NEXT_CHUNK]->(c3)
CREATE (c1)-[:MENTIONS]->(d2), (c1)-[:MENTIONS]->(d2), (c1)-[:MENTIONS]->(c1)
CREATE (t:Theme {id: 't1', name: 'night'}), (g:Category {id: 'g1', name: 'night'})
CREATE (d1)-[:HAS_THEME {rank: 1}]->(t), (d2)-[:HAS_THEME {rank: 2}]->(t),
  (d1)-[:IN_CATEGORY]->(g)
CREATE (m:OntologyClass {id: 'Museum', name: 'Museum', specificity: 0.7,
  uri: 'https://knowtrail.example/ontology/heritage#Museum'})
CREATE (a:OntologyClass {id: 'Archive', name: 'Archive'})
CREATE (u1:Custodian {id: 'u1', uri: 'https://knowtrail.example/custodian/1',
  name: 'Night Museum', city: 'Utrecht', institutionType: 'M', founded: '1850',
  budget: 1000.5, countryCode: 'NL'})-[:INSTANCE_OF]->(m)
CREATE (u2:Custodian:Favourite {id: 'u2', name: 'Old Archive', city: 'Utrecht',
  institutionType: 'A', founded: '1850-02-03',
  budget: 10.0})-[:INSTANCE_OF {by: 'hand'}]->(a)
CREATE (u3:Custodian {id: 'u3', uri: 'not an iri', name: 'X', city: 'Fox',
  founded: 'about 1800'})-[:INSTANCE_OF]->(m)
CREATE (u4:Custodian {uri: 'urn:only:uri', name: 'Fox', founded: '1850-02'})
CREATE (:Document:Custodian {id: 'two', title: 'Fox', name: 'X', language: 'en',
  city: 'Utrecht', institutionType: 'M'})-[:INSTANCE_OF]->(m)
CREATE (:Corpus:Custodian {id: 'u5', name: 'both', city: 'Utrecht', n: 7})
CREATE (:Stray {id: 's'})-[:KNOWS]->(u1), (u1)-[:KNOWS {since: 1999}]->(u2)
CREATE (:_NsPrefDef {ex: 'http://ex.org/', xsd: 'http://www.w3.org/2001/XMLSchema#'})
CREATE (r1:Resource:ex__Person {uri: 'http://ex.org/p1', ex__name: ['Anna', 'Ann@en'],
  ex__age: '30^^xsd__decimal', plain: 'v'})
CREATE (r2:Resource {uri: 'http://ex.org/p2', ex__name: 'Bob'})
CREATE (r1)-[:ex__knows]->(r2), (r1)-[:ex__about]->(u1),
  (r2)-[:ex__knows]->(:Resource {uri: 'bnode://b1', ex__name: 'Bob'})
"""
"""Odd ids, names and values; parallel relationships; a node that is not mapped; RDF of
others as neosemantics stores it."""

PLAIN = "MATCH (n) WHERE NOT n:_NsPrefDef AND NOT n:Resource DETACH DELETE n"
EVERYTHING = "MATCH (n) WHERE NOT n:SchemaVersion DETACH DELETE n"
