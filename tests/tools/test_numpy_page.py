"""docs/numpy.md is what the modules say, and each name of NumPy is there or has a reason."""

from __future__ import annotations

import numpy as np

from gradir.frontends import numpy as gnp
from gradir.frontends.functions import absent, linalg
from gradir.frontends.scipy import special
from gradir.tools.gen_numpy_page import PAGE, page


def test_the_page_is_current():
    assert PAGE.read_text() == page(), "docs/numpy.md is stale: run `make docs`"


def test_each_name_is_there_or_has_a_reason():
    for module, ours, reasons in (
        (np, {*gnp.__all__, *absent.OWN}, absent.ABSENT),
        (np.linalg, linalg.__all__, linalg.ABSENT),
    ):
        names = {n for n in dir(module) if not n.startswith("_")} - {"linalg"}
        assert names - set(ours) - set(reasons) == set()


def test_reasons_are_of_names_that_are_not_there():
    assert not set(gnp.__all__) & set(absent.ABSENT)
    assert not absent.OWN & {*gnp.__all__, *absent.ABSENT}
    assert all(getattr(gnp, name) is getattr(np, name) for name in absent.OWN)
    assert not set(linalg.__all__) & set(linalg.ABSENT)
    assert not set(special.__all__) & set(special.ABSENT)
    assert set(absent.DIFFERS) <= set(gnp.__all__)
    assert set(linalg.DIFFERS) <= set(linalg.__all__)
