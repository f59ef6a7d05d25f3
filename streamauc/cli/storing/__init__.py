"""``streamauc store``: what is in a store, whether it is whole, and its way to Parquet and back.

* `app`: the commands and their options;
* `access`, `words`: opening a store, choosing series; times, lengths and sizes as people say them;
* `info`, `report`: what ``store info`` gathers and prints; `verify`, `compact`: a command each;
* `layout`: the columns of the Parquet file and what else it holds;
* `snapshot`, `columns`, `export`: from a store into the file;
* `records`, `facts`, `remainder`: what is not counts, as JSON, checked field by field;
* `cells`, `source`: rows checked and made panes again; the file they come from;
* `staging`, `putting`, `merging`, `loading`: from the file into a store.
"""
