// purpose: keep the main axes of a version of a corpus
// params: corpus, version, axes
// since: 5.26
MATCH (k:Corpus {name: $corpus, version: $version, status: 'complete'})
SET k.axes = $axes, k.axesVersion = $version
