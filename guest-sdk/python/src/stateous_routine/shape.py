"""JSON to the types that a routine names, and back. Integers keep every digit, both ways."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from typing import Any


class ShapeError(ValueError):
    """JSON that does not fit the type that was asked for; the text says where."""


def read(text: str, shape: Any = None) -> Any:
    """Reads JSON text, as `shape` if there is one: a dataclass, or what `typing` makes of them."""
    value = json.loads(text)
    return value if shape is None else fit(value, shape, "")


def write(value: Any) -> str:
    """Writes a value as JSON text; a dataclass is an object of its fields.

    Raises TypeError or ValueError when there is no JSON for it.
    """
    return json.dumps(value, default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def fit(value: Any, shape: Any, path: str) -> Any:
    """The value as `shape`. Keys that a dataclass does not name are left out: a routine reads what it needs."""
    if shape is Any or shape is object:
        return value
    if dataclasses.is_dataclass(shape):
        return _dataclass(value, shape, path)
    origin = typing.get_origin(shape)
    if origin in (typing.Union, types.UnionType):
        return _union(value, typing.get_args(shape), path)
    if origin is typing.Literal:
        return value if value in typing.get_args(shape) else _refuse(value, path, f"one of {typing.get_args(shape)}")
    if origin in (list, dict):
        return _container(value, origin, typing.get_args(shape), path)
    if typing.is_typeddict(shape):
        return value if isinstance(value, dict) else _refuse(value, path, "an object")
    if shape is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    wanted = types.NoneType if shape is None else shape
    if not isinstance(wanted, type):
        raise TypeError(f"a routine cannot read JSON as {shape!r}: use dataclasses, lists, dicts and plain types")
    fits = isinstance(value, wanted) and not (wanted is int and isinstance(value, bool))
    return value if fits else _refuse(value, path, _NAMES.get(wanted, wanted.__name__))


def _dataclass(value: Any, shape: Any, path: str) -> Any:
    if not isinstance(value, dict):
        return _refuse(value, path, f"an object ({shape.__name__})")
    hints = typing.get_type_hints(shape)
    given = {}
    for field in dataclasses.fields(shape):
        if field.name in value:
            given[field.name] = fit(value[field.name], hints[field.name], f"{path}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise ShapeError(f"missing field `{path.lstrip('.')}{'.' if path else ''}{field.name}`")
    return shape(**given)


def _union(value: Any, shapes: tuple[Any, ...], path: str) -> Any:
    last = ShapeError("no type to fit")
    for shape in shapes:
        try:
            return fit(value, shape, path)
        except ShapeError as error:
            last = error
    raise last


def _container(value: Any, origin: type, items: tuple[Any, ...], path: str) -> Any:
    if not isinstance(value, origin):
        return _refuse(value, path, _NAMES[origin])
    if origin is list:
        return [fit(item, items[0], f"{path}[{at}]") for at, item in enumerate(value)]
    return {key: fit(item, items[1], f"{path}.{key}") for key, item in value.items()}


_NAMES: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "a boolean",
    types.NoneType: "null",
}


def _refuse(value: Any, path: str, wanted: str) -> typing.NoReturn:
    where = f"`{path.lstrip('.')}` is" if path else "it is"
    raise ShapeError(f"{where} {_NAMES.get(type(value), type(value).__name__)}, expected {wanted}")
