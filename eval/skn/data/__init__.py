"""The benchmark's questions and the search results recorded for them.

`samples.json` holds the questions with their ground truth; `search_results.json` five
pages for each, by id. Both were written for this project, hosts and firms included:
nothing in them was found on the web. LICENSE.txt says what may be done with them.
"""
