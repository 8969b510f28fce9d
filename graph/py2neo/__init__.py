"""A driver in the manner of py2neo, over the official one: change the import.

```python
from knowtrail.graph.py2neo import Graph, Node  # was: from py2neo import ...
```

Made from py2neo's handbook; `docs/how-to/py2neo.md` says what is the same, what
differs, and what is not there. The names are those that its modules list.
"""

from knowtrail.graph.py2neo.cypher import *
from knowtrail.graph.py2neo.data import *
from knowtrail.graph.py2neo.database import *
from knowtrail.graph.py2neo.errors import *
from knowtrail.graph.py2neo.matching import *
from knowtrail.graph.py2neo.profiles import *
from knowtrail.graph.py2neo.table import *
