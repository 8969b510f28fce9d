"""The bundled questions and search results, all written for this project.

`samples.json` holds the questions with their ground truth, which are not those of the
published benchmark; `search_results.json` five pages for each, by id. Nothing in them
was found on the web, hosts and firms included. `abstention_phrases.txt` has what
refusals say, one a line. LICENSE.txt says what may be done with them.
"""
