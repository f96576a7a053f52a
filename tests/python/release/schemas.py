from pydantic import BaseModel


class Release(BaseModel):
    title: str
    seen: int = 0


class Item(BaseModel):
    title: str
    seen: int = 0


class Done(BaseModel):
    title: str
    seen: int
