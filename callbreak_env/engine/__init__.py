"""The compiled engine: the rules of play in exactly one place."""
