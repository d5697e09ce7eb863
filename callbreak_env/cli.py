"""x."""


def main() -> int:
    """X."""
    return 0
