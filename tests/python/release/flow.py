# A workflow with children: two checks side by side, then a state that looks at both.
from stateous import END, START, Workflow

from schemas import Done, Item, Release

lint = Workflow("lint", context=Item)
scan = lint.state("scan")
clean = lint.event("clean")
lint.transition(START, scan)
lint.transition(scan, END, on=clean)

audit = Workflow("audit", context=Item)
look = audit.state("look", timeout="1h")
looked = audit.event("done", payload=Done)
again = audit.event("reminded")
audit.transition(START, look)
audit.transition(look, END, on=looked)
audit.transition(look, look, on=again)

flow = Workflow("release", context=Release)
build = flow.state("build")
checks = flow.state("checks", parallel=[lint, audit], join="all", inputs=["title"], timeout="2h")
ship = flow.state("ship")
built = flow.event("built")
done = flow.event("done", payload=Done)
reminded = flow.event("reminded")

flow.transition(START, build)
flow.transition(build, checks, on=built)
flow.transition(checks, ship, on="joined", when="branches.all(status == 'completed')")
flow.transition(checks, build, on="joined", otherwise=True)
flow.transition(ship, END, on=done)
flow.transition(ship, ship, on=reminded)
