"""The store: series of panes on disk, in one file that several processes share.

`keeper` and `series` are what the rest of the house sees. Beneath them, each on those before it:

* `errors`, `address`, `schema`: what can go wrong, where a pane stands, which tables there are;
* `opening`, `database`: connections and transactions;
* `facts`, `catalogue`, `rows`, `writers`, `documents`: what the rows of each table say;
* `change`, `rollup`: what is written, in one transaction;
* `budget`, `directory`, `mirror`: what is read, and kept in memory;
* `verify`, `info`, `references`: the whole file, what is in it, and histograms by name.
"""

from streamauc.store.errors import DamageError, Place
from streamauc.store.info import Info, SeriesInfo
from streamauc.store.keeper import Store
from streamauc.store.references import StoredReference
from streamauc.store.series import StoredSeries
from streamauc.store.verify import Problem, Report
from streamauc.store.writers import WriterInfo

__all__ = [
    "DamageError",
    "Info",
    "Place",
    "Problem",
    "Report",
    "SeriesInfo",
    "Store",
    "StoredReference",
    "StoredSeries",
    "WriterInfo",
]
