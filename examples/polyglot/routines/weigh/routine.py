"""The third desk, in Python: weighs the parcel."""

from dataclasses import dataclass

from stateous_routine import Context, Event, Failure, routine


@dataclass
class Thing:
    name: str
    grams: int
    tags: list[str]


@dataclass
class Stamp:
    desk: str
    language: str


@dataclass
class Parcel:
    title: str
    contents: list[Thing]
    journey: list[Stamp]


@dataclass
class Noted:
    title: str
    serial: int
    contents: list[Thing]


@dataclass
class Weighed(Event):
    serial: int
    says: str


@routine
def weigh(ctx: Context[Parcel]) -> Weighed:
    parcel = ctx.data
    now = Noted(parcel.title, ctx.entered_by.payload["serial"], parcel.contents)
    noted = ctx.memory.get("noted", Noted)
    if noted is None:
        ctx.memory.set("noted", now)
        raise Failure.retryable("weigh was interrupted")
    if noted != now:
        raise Failure.fatal("weigh forgot something")

    grams = sum(thing.grams for thing in parcel.contents)
    ctx.note(f"weighed: {grams} g ⚖️")
    ctx.set("grams", grams)
    ctx.set("journey", [*parcel.journey, Stamp("weigh", "Python")])
    return Weighed(noted.serial + 1, says="Ζυγίστηκε ⚖️")
