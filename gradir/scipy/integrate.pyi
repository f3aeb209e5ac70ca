"""Written by `make docs`: the names of gradir.scipy.integrate, for editors and type checkers."""

from typing import Any

__all__: list[str]
def odeint(func: Any, y0: Any, t: Any, args: Any = ..., *, rtol: Any = None, atol: Any = None, h0: Any = ..., hmax: Any = ..., mxstep: Any = 0, tfirst: Any = False, **others: Any) -> Any:
    """The solution of dy/dt = func(y, t, *args) with y(t[0]) = y0, at the times t, as rows."""
