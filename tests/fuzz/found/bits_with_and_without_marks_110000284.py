# make fuzz LEVEL=traced CASE=110000284 (of an earlier generator)
# bits with and without marks
# [1, "float64", false, ["marks"], 110000284, true]
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
        def body11_step(v12, carried):
            v13, = carried
            return ((v13, ), v12)
        (v14, ), v15 = gradir.scan(lambda c, x: body11_step(x, c), (v2, ), v10, reverse=False, policy=loop('store_all'))
        return v15
    v16 = stage(stage7, 'keep_none')(v3, v2, v2)
    def stage17(v18, v19, v20):
        return v18
    v21 = stage(stage17, 'keep_none')(v16, v1, v2)
    return v21
