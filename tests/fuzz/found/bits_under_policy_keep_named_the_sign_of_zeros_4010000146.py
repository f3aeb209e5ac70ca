# make fuzz LEVEL=traced CASE=4010000146
# bits under policy keep_named, the sign of zeros
# [2, "float64", true, ["policies"], 4010000146, true]
import gradir
import gradir.nn as nn
import gradir.numpy as gnp

MARKED = True


def stage(function, policy):
    return gradir.checkpoint(function, policy=policy) if MARKED else function


def loop(policy):
    return policy if MARKED else "store_all"


def f(v1, v2, v3, v4, v5, v6):
    v7 = -v2
    def body8_step(v9, carried):
        v10, = carried
        return ((v9, ), v10)
    (v11, ), v12 = gradir.scan(lambda c, x: body8_step(x, c), (v1, ), v7, reverse=False, policy=loop('binomial=1'))
    def inner13(v14, v15):
        return v15
    v16, v17 = gradir.jvp(inner13, (v2, v1,), (v12, v11,))
    return v17
