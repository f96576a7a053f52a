def look(message: str) -> None:
    raise LookupError(message)
