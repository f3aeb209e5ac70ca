# make fuzz LEVEL=traced CASE=47110000040
# named refused n >= _ is not known while tracing; choose with gradir.numpy.where or gradir.cond
# [1, "float64", false, ["named"], 47110000040, true]
import gradir
import gradir.nn as nn
import gradir.numpy as gnp
import gradir.scipy as scipy
from gradir import random

MARKED = True


def stage(function, policy):
    return gradir.checkpoint(function, policy=policy) if MARKED else function


def loop(policy):
    return policy if MARKED else "store_all"


def f(v1, v2, v3, v4, v5, v6):
    SIZE = v2.shape[0]
    v7 = scipy.linalg.sqrtm(gnp.sin(v3) * 0.1 + gnp.diag(gnp.arange(1.0, SIZE + 1.0, dtype=v3.dtype)))
    return v1
