# make fuzz LEVEL=traced CASE=150 (of an earlier generator)
# second derivatives and differences
# [1, "float64", false, ["second_order"], 150, true]
import gradir
import gradir.nn as nn
import gradir.numpy as gnp

MARKED = True


def stage(function, policy):
    return gradir.checkpoint(function, policy=policy) if MARKED else function


def loop(policy):
    return policy if MARKED else "store_all"


def f(v1, v2, v3, v4, v5, v6):
    def stage7(v8, v9):
        v10 = gnp.take_along_axis(v8, v5, axis=0)
        return v10
    v11 = stage(stage7, 'keep_none')(v2, v1)
    def stage12(v13, v14):
        return v11
    v15 = stage(stage12, 'keep_none')(v1, v2)
    return v15
