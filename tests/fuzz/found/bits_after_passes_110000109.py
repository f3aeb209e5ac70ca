# make fuzz LEVEL=traced CASE=110000109 (of an earlier generator)
# bits after passes
# [1, "float64", false, ["cleaned"], 110000109, true]
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
        v11 = gnp.hypot(v1, 1.0 + gnp.square(v10))
        return v11
    v12 = stage(stage7, 'keep_none')(v1, v1, v1)
    def stage13(v14, v15):
        return v15
    v16 = stage(stage13, 'keep_none')(v2, v12)
    return v16
