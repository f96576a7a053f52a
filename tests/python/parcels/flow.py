# A workflow with one of everything that routines can do: guards, counts, retries, a timeout, timers and waiting.
from stateous import END, START, Workflow

from schemas import Delivery, Parcel, Weight

flow = Workflow("parcels", context=Parcel)

weigh = flow.state("weigh", timeout="1h", retries=1)
pack = flow.state("pack")
deliver = flow.state("deliver", timeout="6h")

weighed = flow.event("weighed", payload=Weight)
packed = flow.event("packed")
delivered = flow.event("delivered", payload=Delivery)

flow.transition(START, weigh)
flow.transition(weigh, pack, on=weighed, when="payload.grams <= 20000")
flow.transition(weigh, END, on=weighed, otherwise=True)
flow.transition(pack, deliver, on=packed)
flow.transition(deliver, END, on=delivered, when="payload.signed_by != null")
flow.transition(deliver, END, on=delivered, when="payload.signed_by == null and count('delivered') >= 2")
flow.transition(deliver, deliver, on=delivered, otherwise=True)
