# make fuzz LEVEL=traced CASE=4020000175
# second_order refused grad.tape_pop: the tape has no records left
# [1, "float64", false, ["second_order"], 4020000175, true]
import gradir
import gradir.nn as nn
import gradir.numpy as gnp

MARKED = True


def stage(function, policy):
    return gradir.checkpoint(function, policy=policy) if MARKED else function


def loop(policy):
    return policy if MARKED else "store_all"


def f(v1, v2, v3, v4, v5, v6):
    def body7(v8, carried):
        v9, = carried
        v10 = nn.relu(v9)
        return (v10, )
    v11, = gradir.fori_loop(0, 1, body7, (v1,), policy=loop('store_all'))
    return v11
