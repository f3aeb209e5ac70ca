# make fuzz LEVEL=traced CASE=23020000330
# vectorized refused a record of tensor<_x_x_xf_>, tensor<_x_x_xf_>, tensor<_x_x_xf_>, tensor<_xi_>, 
# [5, "float64", true, ["vectorized"], 23020000330, true]
import gradir
import gradir.nn as nn
import gradir.numpy as gnp

MARKED = True


def stage(function, policy):
    return gradir.checkpoint(function, policy=policy) if MARKED else function


def loop(policy):
    return policy if MARKED else "store_all"


def f(v1, v2, v3, v4, v5, v6):
    def body7_step(carried):
        v8, v9, v10, = carried
        def custom11_plain(v12):
            v13 = gnp.arange(5)
            v14 = v13[0]
            v15 = gnp.eye(5, dtype=gnp.float64)
            v16 = gnp.asinh(v15)
            v17 = gnp.inv(v16 * 0.1 + 2.0 * gnp.eye(5, dtype=v16.dtype))
            v18 = gnp.asarray(0.5, dtype=gnp.float64)
            v19 = nn.selu(v18)
            return v19
        custom11 = gradir.custom_vjp(custom11_plain)
        custom11.defvjp(lambda *a: (custom11_plain(*a), a), lambda a, ct: gradir.vjp(custom11_plain, *a)[1](ct))
        v20 = custom11(v9)
        return (v8, v9, v10, )
    def body7(state):
        return (*body7_step(state[:-1]), state[-1] + 1)
    v21, v22, v23, _ = gradir.while_loop(lambda s: s[-1] < 0, body7, (v3, v2, v1, 0), policy=loop('every=1'))
    v24 = gnp.arange(5) * 0 + v4 % 5
    def body25_step(carried):
        v26, = carried
        v27 = gnp.hypot(v26, 1.0 + gnp.square(v26))
        def body28_step(v29, carried):
            v30, = carried
            v31 = gnp.reshape(v22, (1, 5))[0]
            v32 = gnp.sort(v24, axis=0)
            v33 = gnp.astype(v5, v29.dtype) + v29
            return ((v30, ), v33)
        (v34, ), v35 = gradir.scan(lambda c, x: body28_step(x, c), (v1, ), v27, reverse=True, policy=loop('binomial=2'))
        return (v35, )
    def body25(state):
        return (*body25_step(state[:-1]), state[-1] + 1)
    v36, _ = gradir.while_loop(lambda s: s[-1] < 1, body25, (v21, 0), policy=loop('every=2'))
    def body37(v38, carried):
        v39, v40, = carried
        v41 = gnp.tanh(v23)
        v42 = gradir.kernel(lambda i, k, x: x[i, k] * x[k, i], shape=5, over=5)(v36)
        def branch43():
            v45 = gnp.concat([v40[1:], v40[:1]])
            v46 = gnp.take(v36, v24, axis=1)
            v47 = 1.0 - v21
            return v39, v23
        def branch44():
            v48 = gnp.tanh(v39)
            return v42, v23
        v49, v50 = gradir.cond(v6, branch43, branch44)
        v51 = v36 * 0.5
        return (v39, v49, )
    v52, v53, = gradir.fori_loop(0, 1, body37, (v2, v22,), policy=loop('store_all'))
    def inner54(v55, v56):
        v57 = gnp.triu(v56)
        v58 = gnp.asarray(True)
        def branch59():
            v61 = gnp.multiply(v55, v55)
            v62 = v61 ** 2
            return v57, v62
        def branch60():
            v63 = gnp.ones(5, dtype=gnp.float64)
            v64 = nn.softmax(v63, axis=0)
            v65 = gnp.where(v55 < v55, v55, gnp.sin(v55))
            v66 = gnp.var(v64)
            return v56, v55
        v67, v68 = gradir.cond(v58, branch59, branch60)
        v69 = gnp.ones(5, dtype=gnp.float64)
        return gnp.sum(v69)
    v70, = gradir.grad(inner54, argnums=(0,))(v23, v36)
    def inner71(v72):
        v73 = v72 / (2.0 + gnp.sin(v72))
        v75 = gnp.ones(5, dtype=gnp.float64)
        def body74_step(carried):
            v76, v77, = carried
            v78 = gnp.affine_gather(v76, lambda i: (i * 2 - 1,), (5,), pad=0.5)
            v79 = gnp.arange(5)
            v80 = gnp.scatter_add(v78, v79, v76, axis=0)
            v81 = v80.sum() * 0.5
            v82 = gnp.exp(gnp.tanh(v73))
            return (v80, v77, )
        def body74(state):
            return (*body74_step(state[:-1]), state[-1] + 1)
        v83, v84, _ = gradir.while_loop(lambda s: s[-1] < 1, body74, (v75, v73, 0), policy=loop('every=1'))
        return v73, v83
    v85, v86 = gradir.jit(inner71)(v3)
    v87 = nn.selu(v86)
    v88 = nn.softmax(v87, axis=0)
    def body89(v90, carried):
        v91, v92, = carried
        return (v70, v92, )
    v93, v94, = gradir.fori_loop(1, v4 % 5, body89, (v70, v85,), policy=loop('store_all'))
    return v93, v53, v94, v52, v86
