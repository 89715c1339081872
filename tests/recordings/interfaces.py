"""The recordings that others build on: routes, schemas, tools, commands, settings, figures and tables."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from types import SimpleNamespace
from typing import get_args, get_origin
from urllib.request import urlopen

from graphql import print_schema
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from bilateral.api.graphql.schema import graphql_schema
from bilateral.api.metrics import AggregatorCounters, AggregatorFigures, Metrics
from bilateral.api.settings import ApiSettings
from bilateral.buyers.policies import BuyerSettings
from bilateral.cli.app import load
from bilateral.index.files.worker import FileSettings
from bilateral.index.log.database import connect_engine
from bilateral.index.operating import settings as index_settings
from bilateral.index.operating.monitoring import monitored
from bilateral.index.operating.settings import Databases
from bilateral.x402.aggregator import settings as aggregator_settings
from bilateral.x402.aggregator.settings import AggregatorSettings, SponsoredChain
from bilateral.x402.server import signing as x402_signing
from tests.commands import COMMAND
from tests.index.test_migrations import MODULES
from tests.recordings.worlds import replayed_chain, served, town, url_of

WORDS = ("description", "title", "summary")
"""The parts of a schema for people alone."""

SETTINGS = (
    *(index_settings.IndexSettings, index_settings.ChainSettings, FileSettings),
    *(index_settings.FeedLimits, index_settings.PaymentTerms),
    *(ApiSettings, BuyerSettings, AggregatorSettings, SponsoredChain),
)
FILES = {
    "the file of the index": index_settings._File,
    "the file of the aggregator": aggregator_settings._File,
    "the databases": Databases,
}


def json_text(value):
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def without_words(value, *, are_names=False):
    """Return a schema without its words. Keys of `properties` are names, and stay."""
    if isinstance(value, list):
        return [without_words(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_words(entry, are_names=not are_names and key in ("properties", "$defs", "schemas"))
        for key, entry in value.items()
        if are_names or key not in WORDS
    }


def openapi():
    with served(town().engine) as client:
        document = client.get("/openapi.json").json()
    document["info"].pop("version", None)
    return json_text(without_words(document))


def graphql():
    """Return the schema in its own language. Comments and descriptions are left out."""
    text = re.sub(r'^ *"""(?:.|\n)*?"""\n', "", print_schema(graphql_schema()), flags=re.MULTILINE)
    return text + "\n"


def mcp():
    """Return the tools, resources and prompts for models."""
    headers = {"Accept": "application/json, text/event-stream"}
    lists = {
        "tools": "tools",
        "resources": "resources",
        "resources/templates": "resourceTemplates",
        "prompts": "prompts",
    }
    answer = {}
    with served(town().engine) as client:
        for method, name in lists.items():
            call = {"jsonrpc": "2.0", "id": 1, "method": f"{method}/list", "params": {}}
            entries = client.post("/mcp", json=call, headers=headers).json()["result"][name]
            answer[name] = sorted(map(without_words, entries), key=lambda entry: entry["name"])
    return json_text(answer)


def commands():
    """Return each command with its arguments and options: names, type, default, variable."""
    lines = []

    def walk(path, command):
        lines.append(" ".join(path))
        lines.extend(f"  {line}" for line in _parameters(command))
        for name in getattr(command, "commands", {}):
            walk((*path, name), command.commands[name])

    lines.append("bilateral")
    lines.extend(f"  {line}" for line in _parameters(COMMAND))
    for name in COMMAND.list_commands(None):
        walk(("bilateral", name), COMMAND.commands.get(name) or load(name))
    return "\n".join(lines) + "\n"


def _parameters(command):
    """Return the arguments of a command, whose order matters, and then its options."""
    options = [param for param in command.params if param.param_type_name == "option"]
    arguments = [param for param in command.params if param not in options]
    return [*map(_parameter, arguments), *sorted(map(_parameter, options))]


def _parameter(param):
    names = " ".join((*param.opts, *param.secondary_opts)) if param.param_type_name == "option" else param.name
    parts = [names, _type(param.type_descriptor.annotation)]
    default = "computed" if callable(param.default) else param.default  # one that is computed may be of the machine
    for name, value in (("default", default), ("min", param.min), ("max", param.max), ("variable", param.envvar)):
        if value not in (None, (), []):
            parts.append(f"{name}={value}")
    flags = ("required", "multiple", "is_flag", "count", "hidden", "is_eager")
    parts += [name for name in flags if getattr(param, name, False)]
    return "  ".join(parts + ([f"nargs={param.nargs}"] if param.nargs != 1 else []))


def _type(annotation):
    """Return a type without the modules that it is from. One of choices is these."""
    if inspect.isclass(annotation) and issubclass(annotation, Enum):
        return "|".join(str(member.value) for member in annotation)
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__name__
    return f"{getattr(get_origin(annotation), '__name__', 'Union')}[{', '.join(map(_type, get_args(annotation)))}]"


def settings():
    """Return the settings of the index, its follower, the service and the aggregator, and of their files."""
    lines = []
    for kind in SETTINGS:
        lines.append(kind.__name__)
        lines.extend(f"  {field.name}: {_annotation(field.type)}{_value(field)}" for field in fields(kind))
    for name, model in FILES.items():
        schema = model.model_json_schema()
        lines += [name, json_text(without_words(_resolved(schema, schema.get("$defs", {}))))]
    return "\n".join(lines) + "\n"


def _annotation(type_):
    """Return a type as its source names it, evaluated or not."""
    text = type_.__name__ if isinstance(type_, type) and not get_args(type_) else str(type_)
    return re.sub(r"(?:\w+\.)+", "", text)


def _value(field):
    value = field.default_factory() if field.default_factory is not MISSING else field.default
    if value is MISSING:
        return ""
    return f" = {type(value).__name__}()" if is_dataclass(value) else f" = {value!r}"


def _resolved(schema, definitions):
    """Return a schema whose references are replaced by what they name: names of classes may change."""
    if isinstance(schema, list):
        return [_resolved(entry, definitions) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _resolved(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {key: _resolved(entry, definitions) for key, entry in schema.items() if key != "$defs"}


def metrics():
    """Return the figures for Prometheus of each process."""
    engine, aggregators = town().engine, CollectorRegistry()
    idle = SimpleNamespace(count_by_state=dict, settings=SimpleNamespace(chains=()), is_working=False)
    AggregatorCounters(aggregators)
    aggregators.register(AggregatorFigures(idle))
    with served(engine) as client:
        service = client.app.state.service
        of_service = service.metrics.registry, service.metrics.shared
        replicated = Metrics(service.reader, SimpleNamespace(all=()))
        parts = {
            "service": [entry for registry in of_service for entry in _collected(registry)],
            "service with replicas": _collected(replicated.shared),
            "aggregator": _collected(aggregators),
            "paid server": [_figure(x402_signing.SIGNED), _figure(x402_signing.UNSIGNED)],
            "index": _scraped(engine),
        }
    return "".join(f"{name}\n" + "".join(f"  {line}\n" for line in sorted(lines)) for name, lines in parts.items())


def _collected(registry):
    lines = []
    for collector in list(registry._collector_to_names):
        own = [collector] if hasattr(collector, "_labelnames") else collector.collect()
        lines += map(_figure, own)
    return lines


def _figure(figure):
    name = getattr(figure, "name", None) or figure._name
    kind = getattr(figure, "type", None) or figure._type
    return f"{name} {kind} {' '.join(figure._labelnames)}".rstrip()


def _scraped(engine):
    with monitored(engine, "127.0.0.1", 0) as port, urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        families = text_string_to_metric_families(answer.read().decode())
        lines = []
        for family in families:
            labels = sorted({label for sample in family.samples for label in sample.labels})
            lines.append(f"{family.name} {family.type} {' '.join(labels)}".rstrip())
        return lines


def tables():
    """Return the tables of both engines: those of an empty database of SQLite, and those compiled for PostgreSQL."""
    engine = connect_engine(url_of(replayed_chain().engine))
    with engine.connect() as connection:
        query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name"
        of_sqlite = connection.exec_driver_sql(query).scalars().all()
    engine.dispose()
    dialect, of_postgresql = postgresql.dialect(), []
    metadatas = {id(module.metadata): module.metadata for module in MODULES}.values()
    every = {table.name: table for metadata in metadatas for table in metadata.tables.values()}
    for _, table in sorted(every.items()):
        of_sqlite_alone = [index for index in table.indexes if index._ddl_if and index._ddl_if.dialect == "sqlite"]
        indexes = sorted(table.indexes - {*of_sqlite_alone}, key=lambda index: index.name)
        of_postgresql += [str(CreateTable(table).compile(dialect=dialect))]
        of_postgresql += [str(CreateIndex(index).compile(dialect=dialect)) for index in indexes]
    parts = ["-- SQLite", *map(_plain, of_sqlite), "", "-- PostgreSQL", *map(_plain, of_postgresql)]
    return "\n".join(parts) + "\n"


def _plain(statement):
    """Return a statement without its spaces at will. Each column of a table has a line."""
    if statement.startswith("CREATE VIEW"):
        return "\n".join(" ".join(line.split()) for line in statement.strip().splitlines()) + ";"
    words = " ".join(statement.split())
    is_table = words.startswith("CREATE TABLE")
    return (re.sub(r", (?=\w+ [A-Z])", ",\n  ", words) if is_table else words) + ";"
