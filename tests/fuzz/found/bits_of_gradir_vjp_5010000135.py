# make fuzz LEVEL=traced CASE=5010000135
# bits of gradir.vjp
# [4, "bfloat16", true, ["python_vjp"], 5010000135, false]
import gradir
import gradir.nn as nn
import gradir.numpy as gnp

MARKED = True


def stage(function, policy):
    return gradir.checkpoint(function, policy=policy) if MARKED else function


def loop(policy):
    return policy if MARKED else "store_all"


def f(v1, v2, v3, v4, v5, v6):
    def inner7(v8, v9):
        v10 = v8[:, None] * v8
        return v10
    v11, v12 = gradir.jvp(inner7, (v2, v1,), (v2, v1,))
    v13 = v12 @ v2
    v14 = gnp.pow(1.5 + gnp.sin(v3), v11)
    return v14, v13
