"""The bulk door: a corpus as column files, and a first load through them."""
