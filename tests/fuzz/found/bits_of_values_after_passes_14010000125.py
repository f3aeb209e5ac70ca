# make fuzz LEVEL=traced CASE=14010000125
# bits of values after passes
# [3, "float64", false, ["native_forward", "native_gradient", "differences", "transposed", "second_order", "prepared", "marks"], 14010000125, true]
import gradir
import gradir.nn as nn
import gradir.numpy as gnp

MARKED = True


def stage(function, policy):
    return gradir.checkpoint(function, policy=policy) if MARKED else function


def loop(policy):
    return policy if MARKED else "store_all"


def f(v1, v2, v3, v4, v5, v6):
    v7 = v3 * v3
    v8 = nn.linear(v2, v7)
    v9 = v8 @ v8
    return v9
