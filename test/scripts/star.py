"""Runs fleet.star on documents: Starlark is a part of Python but for load().

Words: the folder of the example. Reads [[topic, text], ...], writes the configuration of Telegraf and
the metrics of each document as JSON.
"""

import json
import sys
import tomllib
from pathlib import Path

SECONDS = 1_700_000_000


class Metric:
    def __init__(self, name):
        self.name = name
        self.tags = {}
        self.fields = {}
        self.time = SECONDS * 10**9


class Json:
    decode = staticmethod(json.loads)


folder = Path(sys.argv[1])
program = {
    "Metric": Metric,
    "json": Json,
    "load": lambda *_names: None,
    "type": lambda value: type(value).__name__,
}
exec((folder / "fleet.star").read_text(encoding="utf-8"), program)
lines = []
for topic, text in json.loads(sys.argv[2]):
    one = Metric("connector_document")
    one.tags["topic"] = topic
    one.fields["value"] = text
    made = program["apply"](one) or []
    lines.append([[each.name, each.tags, each.fields] for each in made])
telegraf = tomllib.loads((folder / "telegraf.conf").read_text(encoding="utf-8"))
json.dump({"telegraf": telegraf, "lines": lines, "troubles": program["TROUBLES"]}, sys.stdout)
