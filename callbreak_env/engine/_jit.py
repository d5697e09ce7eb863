"""How kernels are compiled, cached and announced. Nothing here compiles on import."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils, event
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = Path(__file__).resolve().parent.parent
_KEEP_CACHES = 8
_ANNOUNCE_AFTER_S = 2.0


def _source_digest() -> str:
    """A digest of all sources of the package.

    Numba's own cache looks only at the file of the kernel that is called: after an edit to a kernel in
    another file it would run old code. A cache folder named by this digest cannot.
    """
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(str(path.relative_to(_PACKAGE)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def cache_dir() -> str | None:
    """The folder of compiled kernels, made when first asked for; None where nothing can be written.

    ``NUMBA_CACHE_DIR`` is respected; otherwise the user's cache folder is taken.
    """
    base = numba.config.CACHE_DIR or os.environ.get("XDG_CACHE_HOME")
    try:
        home = Path(base) if base else Path.home() / ".cache"
        parent = home / "callbreak_env"
        path = parent / _source_digest()
        path.mkdir(parents=True, exist_ok=True)
        probe = path / f".write-{os.getpid()}"
        probe.touch()
        probe.unlink()
        others = sorted(
            (other for other in parent.iterdir() if other != path), key=lambda p: p.stat().st_mtime
        )
        for old in others[:-_KEEP_CACHES]:
            shutil.rmtree(old, ignore_errors=True)
    except (OSError, RuntimeError):  # RuntimeError: no home folder can be told
        return None
    return str(path)


def _save_quietly(dispatcher: Any) -> Any:
    """The same, but where a kernel cannot be saved (a full disk) it is used unsaved."""
    save = dispatcher._cache.save_overload

    def save_if_possible(*args: Any) -> None:
        with contextlib.suppress(OSError):
            save(*args)

    dispatcher._cache.save_overload = save_if_possible
    return dispatcher


def kernel(**options: Any) -> Callable[[F], F]:
    """``numba.njit`` with a cache that notices every edit. Options go to ``njit``."""

    def decorate(function: F) -> F:
        folder = cache_dir() if not numba.config.DISABLE_JIT else None
        if folder is None:
            return numba.njit(**options)(function)  # type: ignore[no-any-return]
        # Numba reads this setting while it decorates, and offers no argument for it.
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = folder
        try:
            return _save_quietly(numba.njit(cache=True, **options)(function))  # type: ignore[no-any-return]
        finally:
            numba.config.CACHE_DIR = before

    return decorate


inlined = functools.partial(kernel, forceinline=True)
"""``kernel`` for small ones on the way of every step, which became a third faster by it.

Passing a view of a row costs nothing then. Not for what is rare or large: it lengthens every compilation.
"""


merged = functools.partial(kernel, inline="always")
"""``kernel`` for large ones that are called in one or two places: no library of their own is compiled.

Each library is optimized anew with all that it calls, so that every level of calls costs seconds.
"""


class _Announcer(event.Listener):  # type: ignore[misc]
    """Says on stderr that kernels are being compiled, if that takes more than two seconds."""

    def __init__(self) -> None:
        self._depth = 0
        self._timer: threading.Timer | None = None
        self._said = False

    def _ours(self, happening: Any) -> bool:
        function = getattr(happening.data.get("dispatcher"), "py_func", None)
        return str(getattr(function, "__module__", "")).startswith("callbreak_env")

    def _say(self) -> None:
        self._said = True
        where = "for later runs as well" if cache_dir() else "this time (no folder to cache it in)"
        print(f"callbreak_env: compiling the engine, {where}", file=sys.stderr, flush=True)

    def on_start(self, event: Any) -> None:
        if self._ours(event):
            self._depth += 1
            if self._depth == 1 and not self._said:
                self._timer = threading.Timer(_ANNOUNCE_AFTER_S, self._say)
                self._timer.daemon = True
                self._timer.start()

    def on_end(self, event: Any) -> None:
        if self._ours(event):
            self._depth -= 1
            if self._depth == 0 and self._timer is not None:
                self._timer.cancel()
                self._timer = None


event.register("numba:compile", _Announcer())


@intrinsic
def _popcount(typingctx: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@intrinsic
def _lowest_bit(typingctx: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, False))

    return types.uint64(types.uint64), codegen


@intrinsic
def _highest_bit(typingctx: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zeros = builder.ctlz(args[0], context.get_constant(types.boolean, False))
        return builder.sub(context.get_constant(types.uint64, 63), zeros)

    return types.uint64(types.uint64), codegen


# Numba compiles for this processor, unless told otherwise by a setting.
_HAS_PDEP = (
    not (numba.config.CPU_NAME or numba.config.CPU_FEATURES)
    and binding.get_process_triple().startswith("x86_64")
    and bool(binding.get_host_cpu_features().get("bmi2"))
)


@intrinsic
def _spread_bits(typingctx: Any, bits: Any, mask: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        pdep = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(word, [word, word]), "llvm.x86.bmi.pdep.64"
        )
        return builder.call(pdep, args)

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic
def _store_bits(typingctx: Any, out: Any, at: Any, bits: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array_type = signature.args[0]
        data = context.make_array(array_type)(context, builder, args[0]).data
        lanes = ir.VectorType(context.get_value_type(array_type.dtype), 64)
        convert = builder.uitofp if isinstance(array_type.dtype, types.Float) else builder.zext
        flags = builder.bitcast(args[2], ir.VectorType(ir.IntType(1), 64))
        place = builder.bitcast(builder.gep(data, [args[1]]), lanes.as_pointer())
        builder.store(convert(flags, lanes), place, align=1)
        return context.get_dummy_value()

    return types.void(out, types.intp, types.uint64), codegen


if numba.config.DISABLE_JIT:

    def store_bits(out: Any, at: Any, bits: Any) -> None:
        """Write 64 slots of ``out`` from ``at`` on: 1 where ``bits`` (uint64) has its bit, else 0.

        ``out`` is one contiguous row; that the 64 slots are within it is the caller's business.
        """
        for i in range(64):
            out[at + i] = int(bits) >> i & 1

    def add_product(out: Any, values: Any, matrix: Any) -> None:
        """``out += values @ matrix``, to the same bits everywhere; zeros among the values cost little.

        Args:
            out: [n] float32, added to.
            values: [m] float32 or int8.
            matrix: [m, n] float32.
        """
        for j in np.flatnonzero(values):
            out += np.float32(values[j]) * matrix[j]

    def nth_bit(bits: Any, n: Any) -> Any:
        """The index of set bit number ``n`` of a uint64, counted from the lowest, 0; as int64."""
        return [i for i in range(64) if int(bits) >> i & 1][n]

    def popcount(bits: Any) -> Any:
        """The number of set bits of a uint64, as int64."""
        return int(bits).bit_count()

    def lowest_bit(bits: Any) -> Any:
        """The index of the lowest set bit of a nonzero uint64, as int64."""
        return (int(bits) & -int(bits)).bit_length() - 1

    def highest_bit(bits: Any) -> Any:
        """The index of the highest set bit of a nonzero uint64, as int64."""
        return int(bits).bit_length() - 1

else:

    @kernel()
    def store_bits(out: Any, at: Any, bits: Any) -> None:
        """Write 64 slots of ``out`` from ``at`` on: 1 where ``bits`` (uint64) has its bit, else 0.

        ``out`` is one contiguous row; that the 64 slots are within it is the caller's business. One vector
        operation: the processor spreads the bits over the lanes, about ten times as fast as a loop.
        """
        _store_bits(out, at, bits)

    @kernel()
    def add_product(out: Any, values: Any, matrix: Any) -> None:
        """``out += values @ matrix``, to the same bits everywhere; zeros among the values cost little.

        The rows of the matrix are added in their order, whatever the processor: to each number of ``out``
        by itself, which the lanes of a vector do. Four at a time, so that ``out`` is read and written less.

        Args:
            out: [n] float32, added to.
            values: [m] float32 or int8.
            matrix: [m, n] float32.
        """
        rows, count = np.empty(len(values), np.int64), 0
        for j in range(len(values)):  # without a branch, which no processor could foresee
            rows[count] = j
            count += values[j] != 0
        k = 0
        while k + 4 <= count:
            a, b, c, d = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
            by_a, by_b = np.float32(values[a]), np.float32(values[b])
            by_c, by_d = np.float32(values[c]), np.float32(values[d])
            for i in range(len(out)):
                out[i] = (
                    ((out[i] + by_a * matrix[a, i]) + by_b * matrix[b, i]) + by_c * matrix[c, i]
                ) + by_d * matrix[d, i]
            k += 4
        for j in rows[k:count]:
            by_j = np.float32(values[j])
            for i in range(len(out)):
                out[i] += by_j * matrix[j, i]

    @kernel()
    def popcount(bits: Any) -> Any:
        """The number of set bits of a uint64, as int64."""
        return np.int64(_popcount(bits))

    @kernel()
    def lowest_bit(bits: Any) -> Any:
        """The index of the lowest set bit of a nonzero uint64, as int64."""
        return np.int64(_lowest_bit(bits))

    @kernel()
    def highest_bit(bits: Any) -> Any:
        """The index of the highest set bit of a nonzero uint64, as int64."""
        return np.int64(_highest_bit(bits))

    @kernel()
    def nth_bit(bits: Any, n: Any) -> Any:
        """The index of set bit number ``n`` of a uint64, counted from the lowest, 0; as int64."""
        if _HAS_PDEP:  # without it a branch for each bit, which no processor can foresee
            return np.int64(_lowest_bit(_spread_bits(np.uint64(1) << np.uint64(n), bits)))
        for _ in range(np.int64(n)):
            bits &= bits - np.uint64(1)
        return np.int64(_lowest_bit(bits))
