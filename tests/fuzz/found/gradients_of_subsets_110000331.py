# make fuzz LEVEL=traced CASE=110000331 (of an earlier generator)
# gradients of subsets
# [1, "float64", false, ["subsets"], 110000331, true]
import gradir
import gradir.nn as nn
import gradir.numpy as gnp

MARKED = True


def stage(function, policy):
    return gradir.checkpoint(function, policy=policy) if MARKED else function


def loop(policy):
    return policy if MARKED else "store_all"


def f(v1, v2, v3, v4, v5, v6):
    def stage7(v8, v9, v10):
        v11 = gnp.where(v10[:, None] > v3, v3, 0.5)
        return v11
    v12 = stage(stage7, 'keep_none')(v2, v1, v2)
    def stage13(v14):
        return v12
    v15 = stage(stage13, 'keep_none')(v2)
    return v1, v2, v15
