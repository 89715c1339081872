"""Filters, orders and pages in plain Python, over all entities that the index has: what SQL must answer."""

from __future__ import annotations

import random
from dataclasses import dataclass
from decimal import Decimal
from functools import cmp_to_key

from graphql import GraphQLList, GraphQLNonNull, GraphQLObjectType, get_named_type

from bilateral.api.graphql.schema import PLURALS, entity_types, is_derived

BY_BLOCK = {("Feedback", "createdAt"), ("FeedbackResponse", "createdAt"), ("FeedbackFile", "createdAt")}
"""Fields that sort by the place in the chain, so that rows of one block have an order of their own."""

GARBAGE = {
    "ID": ["", "31337:99", "x", "31337:01", "-1:2", "é", "'; DROP TABLE agent; --"],
    "String": ["", "%", "_", "\\", "'", '"', "Σίσυφος", "É", "weather", "STARRED", "\N{SNOWMAN}"],
    "Bytes": ["0x", "0x00", "0x" + "ff" * 20, "0x" + "AB" * 32, "00"],
    "BigInt": [0, -1, 1, 2**63, 2**256, -(2**70)],
    "BigDecimal": ["0", "-3.2", "99.77", "1e30", "-0.0000000001", "80.50"],
    "Int": [0, 90, -1, 2**31 - 1],
    "Boolean": [True, False],
    "ValidationStatus": ["PENDING", "COMPLETED", "EXPIRED"],
}
"""Operands that no row may have."""


def named(field):
    return get_named_type(field.type)


def is_list(field):
    type_ = field.type.of_type if isinstance(field.type, GraphQLNonNull) else field.type
    return isinstance(type_, GraphQLList)


def values_of(entity):
    """Return the fields of an entity that are values, by name."""
    fields = entity_types()[entity].fields
    return {name: field for name, field in fields.items() if not isinstance(named(field), GraphQLObjectType)}


def references_of(entity):
    fields = entity_types()[entity].fields
    return {
        name: field
        for name, field in fields.items()
        if isinstance(named(field), GraphQLObjectType) and not is_derived(field)
    }


def lists_of(entity):
    return {name: field for name, field in entity_types()[entity].fields.items() if is_derived(field)}


def everything(query):
    """Return all rows of all entities, with the ids of the entities that they name."""
    rows = {}
    for entity in PLURALS:
        parts = [*values_of(entity), *(f"{reference} {{ id }}" for reference in references_of(entity))]
        parts += [f"{name}(first: 100) {{ id }}" for name in lists_of(entity)]
        rows[entity] = query(f"{{ {PLURALS[entity][0]}(first: 100) {{ {' '.join(parts)} }} }}")[PLURALS[entity][0]]
    return rows


def parsed(type_name, value):
    """Return a value in a form that compares as its type does."""
    if value is None:
        return None
    if isinstance(value, list):
        return [parsed(type_name, entry) for entry in value]
    if type_name in ("BigInt", "Int"):
        return int(value)
    if type_name == "BigDecimal":
        return Decimal(value)
    return bytes.fromhex(value.removeprefix("0x")) if type_name == "Bytes" else value


@dataclass
class Oracle:
    """All rows, and the answers that they make.

    Attributes:
        rows: The rows of each entity.
    """

    rows: dict

    def __post_init__(self):
        self.by_id = {entity: {row["id"]: row for row in rows} for entity, rows in self.rows.items()}

    def page(self, entity, where, order_by, descending, first, skip):
        """Return the ids of a page."""
        passing = [row for row in self.rows[entity] if self.passes(entity, row, where)]
        passing.sort(key=cmp_to_key(lambda a, b: self._compare(entity, order_by, a, b)), reverse=descending)
        return [row["id"] for row in passing][skip : skip + first]

    def passes(self, entity, row, where):
        """Return True if a filter lets a row pass."""
        return all(self._passes(entity, row, name, operand) for name, operand in where.items())

    def _passes(self, entity, row, name, operand):
        if name in ("and", "or"):
            return (all if name == "and" else any)(self.passes(entity, row, entry) for entry in operand)
        if name.endswith("_"):
            field = entity_types()[entity].fields[name[:-1]]
            link = row[name[:-1]]
            children = link if is_list(field) else [link] if link else []
            inner = named(field).name
            return any(self.passes(inner, self.by_id[inner][child["id"]], operand) for child in children)
        of, _, operator = name.partition("_")
        field = entity_types()[entity].fields[of]
        if isinstance(named(field), GraphQLObjectType):
            value, type_name = row[of] and row[of]["id"], "String"
        else:
            value, type_name = row[of], named(field).name
        operand = (
            [parsed(type_name, entry) for entry in operand] if isinstance(operand, list) else parsed(type_name, operand)
        )
        return _test(operator, parsed(type_name, value), operand)

    def _compare(self, entity, order_by, first, second):
        keys = [self._key(entity, order_by, entry) for entry in (first, second)]
        if keys[0] == keys[1]:
            keys = [entry["id"] for entry in (first, second)]
        if None in keys:
            return 1 if keys[0] is None else -1
        return (keys[0] > keys[1]) - (keys[0] < keys[1])

    def _key(self, entity, order_by, row):
        if order_by == "name" and entity == "Agent":
            order_by = "registrationFile__name"
        of, _, inner = order_by.partition("__")
        field = entity_types()[entity].fields[of]
        if isinstance(named(field), GraphQLObjectType):
            if row[of] is None:
                return None
            return self._key(named(field).name, inner or "id", self.by_id[named(field).name][row[of]["id"]])
        return parsed(named(field).name, row[of])


def _test(operator, value, operand):
    """Return True if a value passes a filter of one operator. Nothing passes "not", as in SQL."""
    if operand is None:
        return (value is None) == (operator == "")
    if value is None:
        return False
    if operator.startswith("not"):
        return not _test(operator.removeprefix("not").lstrip("_"), value, operand)
    if operator.endswith("_nocase"):
        folded = [text.lower() for text in value] if isinstance(value, list) else value.lower()
        needles = [text.lower() for text in operand] if isinstance(operand, list) else operand.lower()
        return _test(operator.removesuffix("_nocase"), folded, needles)
    if isinstance(value, list) and operator == "contains":
        return all(entry in value for entry in operand)
    tests = {
        "": lambda: value == operand,
        "in": lambda: value in operand,
        "gt": lambda: value > operand,
        "lt": lambda: value < operand,
        "gte": lambda: value >= operand,
        "lte": lambda: value <= operand,
        "contains": lambda: operand in value,
        "starts_with": lambda: value.startswith(operand),
        "ends_with": lambda: value.endswith(operand),
    }
    return tests[operator]()


class Generator:
    """Makes valid queries from the schema and a seed.

    Args:
        seed: The seed.
        rows: Rows whose values filters use, see `everything`.
        schema: The schema.
    """

    def __init__(self, seed, rows, schema):
        self.random = random.Random(seed)  # noqa: S311  # tests repeat
        self._rows = rows
        self._schema = schema

    def page(self):
        """Return an entity and the arguments of a list."""
        entity = self.random.choice(list(PLURALS))
        where = self.where(entity, 2)
        order_by = self.random.choice(list(self._schema.type_map[f"{entity}_orderBy"].values))
        descending = self.random.random() < 0.5
        return (
            entity,
            where,
            order_by,
            descending,
            self.random.choice([1, 2, 5, 1000]),
            self.random.choice([0, 0, 1, 3]),
        )

    def where(self, entity, depth):
        """Return a filter."""
        names = list(self._schema.type_map[f"{entity}_filter"].fields)
        chosen = self.random.sample(names, self.random.choice([0, 1, 1, 2, 2, 3]))
        return {name: operand for name in chosen if (operand := self._operand(entity, name, depth)) is not ...}

    def _operand(self, entity, name, depth):
        """Return an operand; an ellipsis to leave the filter out."""
        if name in ("and", "or"):
            return [self.where(entity, depth - 1) for _ in range(self.random.randint(1, 2))] if depth else ...
        if name == "_change_block":
            return ...
        of, _, operator = name.removesuffix("_").partition("_")
        field = entity_types()[entity].fields[of]
        if name.endswith("_"):
            return self.where(named(field).name, depth - 1) if depth else ...
        if operator in ("", "not") and not is_list(field) and self.random.random() < 0.2:
            return None
        several = operator.endswith("in") or is_list(field)
        values = [self._value(entity, of, field, operator) for _ in range(self.random.randint(1, 3) if several else 1)]
        return values if several else values[0]

    def _value(self, entity, of, field, operator):
        """Return a value of a row, or another one."""
        type_name = named(field).name
        row = self.random.choice(self._rows[entity]) if self._rows[entity] else {}
        value = row.get(of)
        if isinstance(value, dict):
            value = value["id"]
        if isinstance(value, list):
            value = self.random.choice(value) if value else None
        garbage = GARBAGE.get(type_name, GARBAGE["ID"])
        if value is None or self.random.random() < 0.2:
            return self.random.choice(garbage)
        if "contains" in operator or "with" in operator:
            return self._part(value) if not is_list(field) else self._cased(value, operator)
        return value

    def _part(self, value):
        """Return a part of a text or of bytes, perhaps in another case."""
        if value.startswith("0x") and len(value) % 2 == 0:
            digits = value[2:]
            start = self.random.randrange(0, len(digits) + 1, 2)
            return "0x" + digits[start : start + 2 * self.random.randint(1, 4)]
        start = self.random.randint(0, len(value))
        part = value[start : start + self.random.randint(1, 6)]
        return self.random.choice([part, part.upper(), part.lower()])

    def _cased(self, value, operator):
        return self.random.choice([value, value.upper()]) if operator.endswith("nocase") else value
