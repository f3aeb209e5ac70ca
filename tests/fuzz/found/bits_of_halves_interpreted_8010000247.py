# make fuzz LEVEL=traced CASE=8010000247
# bits of halves, interpreted
# [2, "float64", false, ["subsets", "threads", "differences", "reloaded", "halves", "marks"], 8010000247, true]
import gradir
import gradir.nn as nn
import gradir.numpy as gnp

MARKED = True


def stage(function, policy):
    return gradir.checkpoint(function, policy=policy) if MARKED else function


def loop(policy):
    return policy if MARKED else "store_all"


def f(v1, v2, v3, v4, v5, v6):
    v7 = gnp.broadcast_to(v1, (2,))
    v8 = gnp.outer(v2, v7)
    def stage9(v10, v11):
        return v10
    v12 = stage(stage9, 'keep_none')(v8, v1)
    return v12
