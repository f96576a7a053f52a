"""Gives the runs of `tests/fixtures/runs.jsonl` to the original's engine and writes down what it tells and records.

    cargo test -p stateous-engine --test model write_runs -- --ignored      # new lists of inputs
    python control-plane/engine/tests/model/original.py control-plane/engine/tests/fixtures/runs.jsonl

The Python must have the package `stateous` 0.2.2. Left out of an entry is `arrival` (see `recorded.rs`) and, after the words
"the schema: ", what a schema library says. The tests call the engine's own functions; where its clock does many things in one
call (leases, timers) or its claim chooses a task by itself, the part that does one thing is called or repeated here.
"""

import json
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import select

from stateous.control.engine import Engine, EngineError, TokenNotFound, _span
from stateous.control.graph import Graph
from stateous.control.store import Store, tables
from stateous.control.store.migrations import migrate
from stateous.model.graph_file import load_graph
from stateous.model.wire import Outcome, Schedule

now = 0


def give(engine, step):
    """Gives one input; answers what it told in one word."""
    what = step["do"]
    try:
        if what == "start":
            try:
                engine.get(step["token"])
                told = "token"
            except TokenNotFound:
                told = "created"
            engine.start(step["token"], step["context"])
            return told
        if what == "fire":
            fired = engine.fire(step["token"], step["event"], step["payload"], key=step["key"])
            return "duplicate" if fired.duplicate else "token"
        if what in ("pause", "resume", "cancel"):
            getattr(engine, what)(step["token"])
            return "token"
        if what == "report":
            schedules = tuple(Schedule(s["event"], s.get("payload"), s["after"]) for s in step["schedules"])
            outcome = Outcome(
                kind=step["kind"], event=step.get("event"), payload=step.get("payload"),
                error=step.get("error"), context=step["context"], schedules=schedules,
            )
            engine.report(step["task"], outcome, supervisor=step["supervisor"], attempt=step["attempt"])
            return "token"
        if what == "note":
            engine.note(step["task"], step["text"], attempt=step["attempt"])
            return "done"
        if what == "memory":
            value = None if step["value"] is None else json.loads(step["value"])
            engine.set_memory(step["task"], step["key"], value, attempt=step["attempt"])
            return "done"
        with engine._transaction() as tx:
            return {"claim": claim, "expire": expire, "timer": fire_timer}[what](engine, tx, step)
    except EngineError as error:
        return error.code


def claim(engine, tx, step):
    task = tx.task(step["task"])
    if task is None or task.status != "queued" or tx.token(task.token).status != "active":
        return "stale"
    task.status, task.claimed_by, task.lease_until = "claimed", step["supervisor"], tx.now + engine.lease
    task.attempt += 1
    tx.append(
        task.token, "task_claimed", task=task.id, supervisor=step["supervisor"], attempt=task.attempt
    )
    return "granted"


def expire(engine, tx, step):
    task = tx.task(step["task"])
    if task is None or task.status != "claimed" or not tx.end_lease(task.id):
        return "stale"
    error = f"{task.claimed_by} stopped answering: no heartbeat for {_span(engine.lease)}"
    engine._task_failed(tx, engine._existing(tx, task.token), task, error)
    return "done"


def fire_timer(engine, tx, step):
    timer = tx.timer(step["timer"])
    if timer is None or timer.status != "pending" or timer.due_at > tx.now:
        return "stale"
    row = engine._existing(tx, timer.token)
    if row.status != "active" or (row.state, row.visit) != (timer.state, timer.visit):
        return "stale"
    timer.status = "fired"
    tx.append(row.token, "timer_fired", event=timer.event)
    refusal = engine._route(tx, row, timer.event, timer.payload, key=None)
    if refusal is not None and timer.kind == "timeout":
        engine._fail(tx, row, f"{row.state!r} timed out: {refusal}")
    elif refusal is not None:
        tx.append(row.token, "event_rejected", event=timer.event, reason=refusal)
    return "done"


def recorded(entry):
    data = {name: value for name, value in entry.data.items() if name != "arrival"}
    mark = "the schema: "
    if mark in data.get("reason", ""):
        data["reason"] = data["reason"][: data["reason"].index(mark) + len(mark)]
    return [entry.kind, data]


def play(graph, run):
    global now
    with tempfile.TemporaryDirectory() as folder:
        store = Store(f"sqlite:///{folder}/run.db")
        migrate(store.engine)
        clock = lambda: datetime.fromtimestamp(now / 1000, UTC)
        engine = Engine(store, Graph(load_graph(json.dumps(graph))), clock=clock)
        seen = {}
        for step in run["steps"]:
            now = step["at"]
            step["told"] = give(engine, step["input"])
            step["entries"] = {}
            with engine._transaction() as tx:
                for token in sorted(tx._session.scalars(select(tables.Token.token))):
                    entries = tx.entries(token)[seen.get(token, 0) :]
                    if entries:
                        step["entries"][token] = [recorded(entry) for entry in entries]
                        seen[token] = seen.get(token, 0) + len(entries)
        store.engine.dispose()


def main():
    path = Path(sys.argv[1])
    graphs, *runs = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    for run in runs:
        play(graphs[run["flow"]], run)
    lines = [json.dumps(line, separators=(",", ":")) for line in [graphs, *runs]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


main()
