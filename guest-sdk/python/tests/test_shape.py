"""JSON to types and back."""

import unittest
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from stateous_routine import shape
from stateous_routine.shape import ShapeError


@dataclass
class Line:
    sku: str
    count: int = 1


class Extra(TypedDict, total=False):
    tag: str


@dataclass
class Order:
    lines: list[Line]
    note: str | None = None
    prices: dict[str, float] = field(default_factory=dict)
    kind: Literal["new", "old"] = "new"
    extra: Extra | None = None
    rest: Any = None


class ShapeTest(unittest.TestCase):
    def test_nested_types_are_read_and_what_is_not_named_is_left_out(self):
        text = '{"lines": [{"sku": "a", "more": 1}, {"sku": "b", "count": 3}], "prices": {"a": 2}, "unknown": {}}'
        order = shape.read(text, Order)
        self.assertEqual(order, Order([Line("a"), Line("b", 3)], prices={"a": 2.0}))
        self.assertIsInstance(order.prices["a"], float)

    def test_integers_keep_every_digit(self):
        digits = "9" * 400
        value = shape.read(f'{{"n": {digits}, "deep": [{{"m": -{digits}}}]}}')
        self.assertEqual(value["n"], int(digits))
        self.assertEqual(shape.write(value), f'{{"n":{digits},"deep":[{{"m":-{digits}}}]}}')

    def test_unicode_is_written_as_it_is(self):
        self.assertEqual(shape.write(Line("naïve 🖋")), '{"sku":"naïve 🖋","count":1}')

    def test_what_does_not_fit_is_told_with_its_place(self):
        for text, why in [
            ("[]", "it is a list, expected an object (Order)"),
            ("{}", "missing field `lines`"),
            ('{"lines": {}}', "`lines` is an object, expected a list"),
            ('{"lines": [{}]}', "missing field `lines[0].sku`"),
            ('{"lines": [{"sku": "a", "count": true}]}', "`lines[0].count` is a boolean, expected an integer"),
            ('{"lines": [], "prices": {"a": "x"}}', "`prices.a` is a string, expected a number"),
            ('{"lines": [], "kind": "other"}', "`kind` is a string, expected one of ('new', 'old')"),
            ('{"lines": [], "note": 7}', "`note` is an integer, expected null"),
        ]:
            with self.assertRaises(ShapeError) as caught:
                shape.read(text, Order)
            self.assertEqual(str(caught.exception), why)

    def test_what_json_cannot_say_is_refused(self):
        for value in [float("nan"), float("inf"), object(), {1, 2}, Line]:
            with self.assertRaises((TypeError, ValueError)):
                shape.write(value)


if __name__ == "__main__":
    unittest.main()
