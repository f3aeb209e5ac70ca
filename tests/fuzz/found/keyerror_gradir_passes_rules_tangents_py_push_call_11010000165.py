# make fuzz LEVEL=traced CASE=11010000165
# KeyError gradir/passes/rules/tangents.py:push_call
# [3, "float64", true, ["transposed"], 11010000165, true]
import gradir
import gradir.nn as nn
import gradir.numpy as gnp

MARKED = True


def stage(function, policy):
    return gradir.checkpoint(function, policy=policy) if MARKED else function


def loop(policy):
    return policy if MARKED else "store_all"


def f(v1, v2, v3, v4, v5, v6):
    def body7_step(v8, carried):
        v9, = carried
        def inner10(v11, v12):
            v13 = gnp.eye(3, dtype=gnp.float64)
            v14 = gnp.trace(v13)
            def body15(v16, carried):
                v17, = carried
                return (v11, )
            v18, = gradir.fori_loop(0, 2, body15, (v14,), policy=loop('store_all'))
            return v18
        v19, v20 = gradir.jvp(inner10, (v8, v2,), (v1, v2,))
        return ((v9, ), v19)
    (v21, ), v22 = gradir.scan(lambda c, x: body7_step(x, c), (v3, ), v2, reverse=False, policy=loop('every=2'))
    return v22
