"""Reports the task that a token waits for, from outside, with the original's client.

Usage: python report.py URL TOKEN EVENT PAYLOAD_JSON
"""

import json
import sys

from stateous import Client

url, token, event, payload = sys.argv[1:]
with Client(url) as client:
    waiting = [entry["data"]["task"] for entry in client.history(token) if entry["kind"] == "task_waiting"]
    moved = client.report(waiting[-1], event, json.loads(payload))
    print(moved["state"], moved["status"], "visit", moved["visit"])
