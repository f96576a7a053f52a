from pydantic import BaseModel


class Parcel(BaseModel):
    """The context of each token."""

    to: str
    fragile: bool = False
    label: str | None = None


class Weight(BaseModel):
    grams: int


class Delivery(BaseModel):
    signed_by: str | None = None
