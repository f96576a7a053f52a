"""A routine with everything a context offers, run natively through the mock."""

import unittest
from dataclasses import dataclass
from datetime import timedelta

from stateous_routine import Context, Event, Failure, Refusal, event, routine, waiting
from stateous_routine.routine import made, only
from stateous_routine.testing import Mock, Scheduled


@dataclass
class Order:
    title: str


@dataclass
class Filled(Event):
    count: int


@dataclass
class Reminded(Event):
    pass


@routine
def order(ctx: Context[Order]):
    seen = (ctx.memory.get("seen", int) or 0) + 1
    ctx.memory.set("seen", seen)
    ctx.note(f"  {ctx.data.title} for the {seen}. time  ")
    match ctx.data.title:
        case "wait":
            ctx.schedule(Reminded(), "6h")
            ctx.schedule(Filled(seen), timedelta(milliseconds=89_001))
            return waiting
        case "fill":
            ctx.set("count", seen)
            assert ctx.get("count", int) == seen
            return Filled(seen)
        case "fail":
            try:
                raise OSError("no route")
            except OSError as error:
                raise RuntimeError("the warehouse does not answer") from error
        case "never":
            raise Failure.fatal("there is no such thing")
        case "payload":
            return event("filled", [1])
        case "nothing":
            return None
    return event("submitted")


class RoutineTest(unittest.TestCase):
    def test_an_event_moves_the_token_and_the_writes_go_with_it(self):
        mock = Mock({"title": "fill"})
        ended = mock.run(order)
        self.assertEqual((ended.kind, ended.event, ended.payload), ("event", "filled", {"count": 1}))
        self.assertEqual(mock.token_context, {"title": "fill", "count": 1})
        self.assertEqual(mock.notes, ["fill for the 1. time"])
        self.assertEqual(mock.run(order).payload["count"], 2, "memory outlives a visit")

    def test_waiting_keeps_the_timers(self):
        mock = Mock({"title": "wait"})
        self.assertEqual(mock.run(order).kind, "waiting")
        self.assertEqual(mock.scheduled, [Scheduled("reminded", {}, "6h"), Scheduled("filled", {"count": 1}, "90s")])

    def test_failures_say_whether_to_retry(self):
        failed = Mock({"title": "fail"}).run(order)
        self.assertTrue(failed.failure.retry)
        self.assertEqual(failed.failure.message, "RuntimeError: the warehouse does not answer: no route")
        self.assertIsInstance(failed.error, RuntimeError)
        never = Mock({"title": "never"}).run(order)
        self.assertEqual((never.failure.retry, never.failure.message), (False, "there is no such thing"))

    def test_what_is_no_outcome_fails_for_good_and_says_what_it_is(self):
        failure = Mock({"title": "payload"}).run(order).failure
        self.assertEqual(failure.message, "the payload of event `filled` must be an object, not [1]")
        failure = Mock({"title": "nothing"}).run(order).failure
        self.assertEqual(failure.message, "a routine returns an Event or `waiting`, not None")
        self.assertFalse(failure.retry)

    def test_a_context_that_does_not_fit_fails_for_good(self):
        failure = Mock({"titel": "typo"}).run(order).failure
        self.assertFalse(failure.retry)
        self.assertEqual(failure.message, "the token's context does not fit `Order`: missing field `title`")

    def test_a_kill_keeps_memory_and_notes_and_nothing_else(self):
        @routine
        def steps(ctx: Context):
            step = ctx.memory.get("step", int) or 0
            ctx.note(f"attempt {ctx.attempt} from step {step}")
            ctx.set("attempt", ctx.attempt)
            for following in range(step + 1, 4):
                ctx.memory.set("step", following)
            return event("submitted")

        mock = Mock().kill_after_memory_writes(2)
        self.assertEqual(mock.run(steps).kind, "killed")
        self.assertEqual((mock.memory, mock.token_context), ({"step": 2}, {}))
        self.assertEqual(mock.run(steps).event, "submitted")
        self.assertEqual(mock.notes, ["attempt 1 from step 0", "attempt 2 from step 2"])
        self.assertEqual(mock.token_context, {"attempt": 2})

    def test_the_task_can_be_read(self):
        mock = Mock().token("ORDER-7").state("orders", "draft").visit(2).attempt(3)
        mock.entered_by("reviewed", {"title": "longer"}).now_ms(1_500).remembers("seen", 4)
        ctx = mock.context()
        self.assertEqual((ctx.token, ctx.workflow, ctx.state), ("ORDER-7", "orders", "draft"))
        self.assertEqual((ctx.task, ctx.visit, ctx.attempt), (1, 2, 3))
        self.assertEqual((ctx.entered_by.name, ctx.entered_by.payload), ("reviewed", {"title": "longer"}))
        self.assertEqual(ctx.entered_by.payload_as(Order), Order("longer"))
        self.assertEqual((ctx.now_ms, ctx.now.isoformat()), (1_500, "1970-01-01T00:00:01.500000+00:00"))
        self.assertEqual(ctx.memory.keys(), ["seen"])
        self.assertTrue(ctx.memory.delete("seen"))
        self.assertFalse(ctx.memory.delete("seen"))
        ctx.warn("careful")
        self.assertEqual(mock.logs, [("warn", "careful")])

    def test_the_mock_refuses_what_the_host_would(self):
        mock = Mock({"n": "seven"})
        ctx = mock.context()

        def code(call):
            with self.assertRaises(Refusal) as caught:
                call()
            return caught.exception.code

        self.assertEqual(code(lambda: ctx.note("x" * 501)), "too_large")
        self.assertEqual(code(lambda: ctx.memory.set("", 1)), "invalid_key")
        self.assertEqual(code(lambda: ctx.memory.set("k" * 129, 1)), "invalid_key")
        self.assertEqual(code(lambda: ctx.memory.set("k", None)), "invalid_json")
        self.assertEqual(code(lambda: ctx.memory.set("k", "x" * (1 << 20))), "too_large")
        self.assertEqual(code(lambda: ctx.schedule(Reminded(), "soon")), "invalid_duration")
        self.assertEqual(code(lambda: ctx.schedule(event("timeout"), "1s")), "invalid_event")
        for _ in range(100):
            ctx.schedule(Reminded(), "1s")
        self.assertEqual(code(lambda: ctx.schedule(Reminded(), "1s")), "too_many")
        ctx.note("   ")
        self.assertEqual(mock.notes, [])
        with self.assertRaisesRegex(ValueError, "the context's `n` does not fit `int`: it is a string, expected an integer"):
            ctx.get("n", int)
        with self.assertRaisesRegex(TypeError, "cannot be written as JSON"):
            ctx.set("f", object())

    def test_names_are_checked_where_the_class_is_written(self):
        class NeedsWork(Event):
            pass

        self.assertEqual(NeedsWork.event_name, "needs_work")
        with self.assertRaisesRegex(TypeError, "the engine itself fires `timeout`"):
            type("Timeout", (Event,), {})
        with self.assertRaisesRegex(TypeError, "cannot be an event's name"):

            class Wrong(Event, name="No!"):
                pass

    def test_a_component_has_exactly_one_routine(self):
        @routine
        def second(ctx: Context):
            return waiting

        self.assertIn(second, made)
        with self.assertRaisesRegex(TypeError, "exactly one routine, and routine.py has order, "):
            only("routine")
        with self.assertRaisesRegex(TypeError, "is async"):

            @routine
            async def later(ctx: Context):
                return waiting


if __name__ == "__main__":
    unittest.main()
