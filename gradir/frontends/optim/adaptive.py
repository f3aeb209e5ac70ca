"""Transformations that scale updates by running moments of the gradients."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from gradir.frontends.functions import numpy as gnp
from gradir.frontends.optim.arithmetic import (
    divided,
    like,
    number,
    require_epsilon,
    stored,
    widened,
)
from gradir.frontends.optim.leaves import (
    aligned,
    counter,
    filled_like,
    floating_element,
    incremented,
    require_not_negative,
    require_share,
    require_state,
)
from gradir.frontends.optim.moments import of_moments
from gradir.frontends.optim.transformation import GradientTransformation
from gradir.frontends.tracing.source_locations import named_options
from gradir.frontends.tracing.tracing import is_number


def _moved(average: Any, x: Any, decay: Any) -> Any:
    """An exponential moving average with one more entry."""
    rate = like(decay, x)
    return rate * average + (1 - rate) * x


# Adam.


class ScaleByAdamState(NamedTuple):
    """`count`: the steps taken, int32; `mu` and `nu`: averages of gradients and their squares."""

    count: Any
    mu: Any
    nu: Any


@named_options
def scale_by_adam(
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    eps_root: float = 0.0,
    state_dtype: Any = None,
    nesterov: bool = False,
    lazy: bool = False,
) -> GradientTransformation:
    """m' = b1 m + (1 - b1) u, v' = b2 v + (1 - b2) u**2, and the update

        (m' / (1 - b1**t)) / (sqrt(v' / (1 - b2**t) + eps_root) + eps), with t = 1 first.

    `nesterov` takes b1 m' / (1 - b1**(t + 1)) + (1 - b1) u / (1 - b1**t) in place of the first
    bracket. `adam` gives the sources. `state_dtype`: the dtype of m and v. `lazy`: of row slices,
    m and v change and give updates in their rows alone.
    """
    require_share("scale_by_adam", b1=b1, b2=b2)
    require_not_negative("scale_by_adam", eps=eps, eps_root=eps_root)
    dtype = floating_element(state_dtype)

    def init(params: Any) -> ScaleByAdamState:
        mu, nu = (filled_like("adam", params, 0, dtype) for _ in range(2))
        return ScaleByAdamState(counter(), mu, nu)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        require_state("adam", state, ScaleByAdamState)
        count = incremented(state.count)
        given = {"updates": updates, "state.mu": state.mu, "state.nu": state.nu}
        rates = _AdamRates(b1, b2, eps, eps_root, *_corrections(b1, b2, count, nesterov))
        made, mu, nu = aligned("adam", given).map(partial(_dense_adam, rates), 3, lazy)
        return made, ScaleByAdamState(count, mu, nu)

    return GradientTransformation(init, update)


class _AdamRates(NamedTuple):
    """The hyperparameters of Adam, and what this step's averages are divided by.

    `of_mu` is of the step after this one with Nesterov's momentum, and `of_update` else None.
    """

    b1: Any
    b2: Any
    eps: Any
    eps_root: Any
    of_mu: Any
    of_nu: Any
    of_update: Any


def _corrections(b1: Any, b2: Any, count: Any, nesterov: bool) -> tuple[Any, Any, Any]:
    """What an average from zeros lacks to a sum of weights of 1: 1 - b**t."""
    t = number(count)
    of_mu, of_nu = 1 - b1**t, 1 - b2**t
    return (1 - b1 ** (t + 1), of_nu, of_mu) if nesterov else (of_mu, of_nu, None)


def _dense_adam(rates: _AdamRates, update: Any, mu: Any, nu: Any) -> tuple[Any, Any, Any]:
    b1, b2, eps, eps_root, of_mu, of_nu, of_update = rates
    u = widened(update, mu)
    first, second = _moved(mu, u, b1), _moved(nu, u * u, b2)
    require_epsilon("adam", eps, second)
    mean = divided(first, of_mu)
    if of_update is not None:
        mean = like(b1, u) * mean + (1 - like(b1, u)) * divided(u, of_update)
    square = divided(second, of_nu)
    root = gnp.sqrt(square if _is_nought(eps_root) else square + like(eps_root, second))
    return mean / (root + like(eps, root)), stored(first, mu), stored(second, nu)


def _is_nought(value: Any) -> bool:
    return is_number(value) and value == 0


# Adagrad.


class ScaleByRssState(NamedTuple):
    """`sum_of_squares`: of all gradients so far."""

    sum_of_squares: Any


@named_options
def scale_by_rss(
    initial_accumulator_value: float = 0.1, eps: float = 1e-7, state_dtype: Any = None
) -> GradientTransformation:
    """s' = s + u**2, and the update u / sqrt(s' + eps); 0 where s' is 0. `adagrad` gives sources.

    `state_dtype`: the dtype of s. Of row slices, s changes and gives updates in their rows alone,
    as it does for an array that is 0 in the others.
    """
    given = {"initial_accumulator_value": initial_accumulator_value, "eps": eps}
    require_not_negative("scale_by_rss", **given)
    first, dense = [initial_accumulator_value], partial(_dense_adagrad, eps=eps)
    return of_moments("adagrad", ScaleByRssState, first, dense, state_dtype, lazy=True)


def _dense_adagrad(update: Any, before: Any, eps: Any) -> tuple[Any, Any]:
    u = widened(update, before)
    total: Any = before + u * u
    apart: Any = total > 0
    root = gnp.sqrt(gnp.where(apart, total + like(eps, u), 1.0))
    return gnp.where(apart, u / root, 0.0), stored(total, before)


# RMSprop.


class ScaleByRmsState(NamedTuple):
    """`nu`: the average of squared gradients."""

    nu: Any


class ScaleByStddevState(NamedTuple):
    """`mu` and `nu`: the averages of gradients and of their squares."""

    mu: Any
    nu: Any


def _per_root(update: Any, square: Any, eps: Any, eps_in_sqrt: bool) -> Any:
    """update / sqrt(square + eps), or update / (sqrt(square) + eps)."""
    require_epsilon("rmsprop", eps, square)
    small = like(eps, square)
    return update / (gnp.sqrt(square + small) if eps_in_sqrt else gnp.sqrt(square) + small)


@named_options
def scale_by_rms(
    decay: float = 0.9,
    eps: float = 1e-8,
    initial_scale: float = 0.0,
    eps_in_sqrt: bool = True,
    state_dtype: Any = None,
    lazy: bool = False,
) -> GradientTransformation:
    """v' = decay v + (1 - decay) u**2, and the update u / sqrt(v' + eps).

    Without `eps_in_sqrt` u / (sqrt(v') + eps). v is `initial_scale` first. `rmsprop` gives the
    sources. `state_dtype`: the dtype of v. `lazy`: of row slices, v changes and gives updates in
    their rows alone.
    """
    require_share("scale_by_rms", decay=decay)
    require_not_negative("scale_by_rms", eps=eps, initial_scale=initial_scale)

    def dense_rms(update: Any, nu: Any) -> tuple[Any, Any]:
        u = widened(update, nu)
        second = _moved(nu, u * u, decay)
        return _per_root(u, second, eps, eps_in_sqrt), stored(second, nu)

    return of_moments("rmsprop", ScaleByRmsState, [initial_scale], dense_rms, state_dtype, lazy)


@named_options
def scale_by_stddev(
    decay: float = 0.9,
    eps: float = 1e-8,
    initial_scale: float = 0.0,
    eps_in_sqrt: bool = True,
    state_dtype: Any = None,
    lazy: bool = False,
) -> GradientTransformation:
    """As scale_by_rms, with the variance max(v' - m'**2, 0) for v'; m' = decay m + (1 - decay) u.

    optax and torch do not bound the variance by 0: where gradients stay equal, it rounds below 0,
    and its root is nan.
    """
    require_share("scale_by_stddev", decay=decay)
    require_not_negative("scale_by_stddev", eps=eps, initial_scale=initial_scale)

    def dense_stddev(update: Any, mu: Any, nu: Any) -> tuple[Any, Any, Any]:
        u = widened(update, nu)
        first, second = _moved(mu, u, decay), _moved(nu, u * u, decay)
        variance = gnp.maximum(second - first * first, 0.0)
        return _per_root(u, variance, eps, eps_in_sqrt), stored(first, mu), stored(second, nu)

    first = [0, initial_scale]
    return of_moments("rmsprop", ScaleByStddevState, first, dense_stddev, state_dtype, lazy)


# Lion.


class ScaleByLionState(NamedTuple):
    """`mu`: the average of gradients."""

    mu: Any


@named_options
def scale_by_lion(
    b1: float = 0.9, b2: float = 0.99, state_dtype: Any = None, lazy: bool = False
) -> GradientTransformation:
    """The update sign(b1 m + (1 - b1) u), then m' = b2 m + (1 - b2) u. `lion` gives the source.

    `state_dtype`: the dtype of m. `lazy`: of row slices, m changes and gives updates in their rows
    alone. optax's state has a count too, which nothing reads.
    """
    require_share("scale_by_lion", b1=b1, b2=b2)

    def dense_lion(update: Any, mu: Any) -> tuple[Any, Any]:
        u = widened(update, mu)
        return gnp.sign(_moved(mu, u, b1)), stored(_moved(mu, u, b2), mu)

    return of_moments("lion", ScaleByLionState, [0], dense_lion, state_dtype, lazy)
