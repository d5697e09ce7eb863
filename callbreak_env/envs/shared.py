"""What the Gymnasium and PettingZoo environments share: render modes, reset options, a price."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from callbreak_env.errors import CallBreakError

RENDER_MODES = ("human", "ansi")
ILLEGAL_REWARD = -13.0
"""What an illegal action pays where it ends the match."""


class RenderModeError(CallBreakError, TypeError):
    """Also a TypeError: SB3's ``make_vec_env`` asks for "rgb_array" and, at a TypeError, does without."""


def check_render_mode(render_mode: Any) -> str | None:
    """``render_mode``, or ValueError if it is none of them."""
    if render_mode not in (None, *RENDER_MODES):
        raise RenderModeError(f"render_mode={render_mode!r}: choose None, 'human' or 'ansi'")
    return render_mode  # type: ignore[no-any-return]


def show_table(picture: Any, render_mode: str | None) -> str | None:
    """A table's picture: returned (``"ansi"``) or printed (``"human"``); a warning without a mode."""
    if render_mode is None:
        warnings.warn("render() does nothing without a render_mode: pass 'ansi' or 'human'", stacklevel=3)
        return None
    if render_mode == "ansi":
        return str(picture)
    print(picture, end="\n\n", flush=True)
    return None


def check_options(options: Any) -> dict[str, Any]:
    """Reset options as a dict of the caller's own; ValueError for what is no mapping."""
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(f"options must be by name, not {type(options).__name__}")
    return dict(options or {})


def warn_unknown(options: Iterable[Any], warned: set[str]) -> None:
    """Warn once of each reset option that is unknown."""
    for name in map(str, options):
        if name not in warned:
            warned.add(name)
            warnings.warn(
                f"reset option {name!r:.40} is unknown and ignored: options are dealer, decks", stacklevel=3
            )
