"""The arena: agents compared on the same deals in every seat, with intervals."""
