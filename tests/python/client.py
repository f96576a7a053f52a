"""Drives a control plane that serves `parcels` with the original's client, and prints what each call brought.

Usage: python client.py URL. Times are printed as TIME, so that two control planes can be compared line by line.
"""

import json
import re
import sys

from stateous import Client
from stateous.client import Refused

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z")


def say(call, answer):
    print(call, "->", TIME.sub("TIME", json.dumps(answer)), flush=True)


def refused(call, act):
    try:
        say(call, act())
    except Refused as refusal:
        sentence = str(refusal).replace(sys.argv[1], "URL")
        print(call, "->", type(refusal).__name__, refusal.status, refusal.code, sentence, flush=True)


with Client(sys.argv[1]) as client:
    say("start", client.start("T-1", {"to": "Zoë", "kept": [1e3, 12345678901234567890, {"b": None, "a": "\u2028"}]}))
    say("start again", client.start("T-1", {"to": "nobody"}))
    say("get", client.get("T-1"))
    say("fire", client.fire("T-1", "weighed", {"grams": 900}, key="delivery-1"))
    say("fire again", client.fire("T-1", "weighed", {"grams": 900}, key="delivery-1"))
    say("fire another with its key", client.fire("T-1", "packed", key="delivery-1"))
    say("pause", client.pause("T-1"))
    say("fire while paused", client.fire("T-1", "packed"))
    say("tokens paused", client.tokens(status="paused"))
    say("resume", client.resume("T-1"))
    say("guarded, unsigned once", client.fire("T-1", "delivered"))
    say("cancel", client.cancel("T-1"))
    say("tokens", client.tokens(limit=10))
    say("tokens active", client.tokens(status="active"))
    say("children of nobody", client.tokens(parent="nobody"))
    refused("fire when over", lambda: client.fire("T-1", "packed"))
    refused("pause when over", lambda: client.pause("T-1"))
    refused("get unknown", lambda: client.get("T-404"))
    refused("history unknown", lambda: client.history("T-404"))
    refused("fire unknown", lambda: client.fire("T-404", "packed"))
    refused("start wrong id", lambda: client.start("not an id"))
    refused("start same id but for case", lambda: client.start("t-1", {"to": "Zoë"}))
    refused("report unknown", lambda: client.report(404, "packed"))
    refused("report not held", lambda: client.report(1, "weighed", {"grams": 1}))
    refused("tokens wrong limit", lambda: client.tokens(limit=0))
    say("start T-2", client.start("T-2", {"to": "Ada", "fragile": True}))
    refused("fire what does not fit", lambda: client.fire("T-2", "packed"))
    refused("fire an unknown event", lambda: client.fire("T-2", "eaten"))
    refused("fire an event of the engine's own", lambda: client.fire("T-2", "timeout"))
    say("too heavy", client.fire("T-2", "weighed", {"grams": 20001}))
    for token in ("T-1", "T-2"):
        for entry in client.history(token):
            say(token, entry)
    say("workflow", client.workflow()["workflow"])
