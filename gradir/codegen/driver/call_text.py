"""Text of functions that Python calls: the records and the C interfaces that they use.

The one layout they use is NumPy's arrays, which extension modules are compiled against.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gradir.codegen.text.fixed_text import declarations
from gradir.codegen.text.structs import Struct, StructWriter

# What NumPy's headers call PyArrayObject_fields, up to the flags.
NDARRAY = Struct.of(
    "ndarray",
    references="i64", type="ptr", data="ptr", rank="i32", extents="ptr", strides="ptr", base="ptr",
    dtype="ptr", flags="i32",
)  # fmt: skip
# An argument or a result: `scalar` is the type of NumPy's scalars that stand for it, `number` says
# which Python numbers do, `maker` makes the result if NumPy is not to.
ARRAY = Struct.of(
    "array",
    dtype="ptr", rank="i64", extents="ptr", bytes="i64", scalar="ptr", number="i64", low="i64",
    high="i64", maker="ptr",
)  # fmt: skip
# `first` is the word of the table for the first input, `numbers` the first of those that hold
# arguments given as numbers, `arrays` the inputs and then the results.
PROGRAM = Struct.of(
    "program",
    entry="ptr", inputs="i64", results="i64", first="i64", numbers="i64", arrays="ptr",
)  # fmt: skip
CALL = Struct.of("call", program="ptr", table="ptr")
# A container or a leaf of a nested value, followed by its children: `type` is the class, or what
# makes the value of them, `keys` are a dict's, or an object without children.
NODE = Struct.of("node", kind="i64", type="ptr", count="i64", keys="ptr")
# A walk through the nodes and through the leaves, a tuple: the next of each.
WALK = Struct.of("walk", node="ptr", leaves="ptr", leaf="i64")
# The calls of a function with arguments of one nesting: `run` makes one with the flat tuple and
# None if no other call has it, `attempt` with the tuple whenever it is asked.
WAY = Struct.of(
    "way",
    arguments="ptr", leaves="i64", results="ptr", is_busy="i64", run="ptr", failed="ptr",
    attempt="ptr",
)  # fmt: skip
# The ways of a function, in the order in which they are tried: none while `stops` has items, and
# only by `attempt` while one of the others has.
WAYS = Struct.of("ways", stops="ptr", doubt="ptr", loss="ptr", count="i64", ways="ptr")


# Functions of CPython's and of NumPy's C interface.
PYTHON_FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "PyDict_GetItemWithError": "ptr (ptr, ptr)",
        "PyDict_New": "ptr ()",
        "PyDict_SetItem": "i32 (ptr, ptr, ptr)",
        "PyDict_Size": "i64 (ptr)",
        "PyErr_Clear": "void ()",
        "PyEval_RestoreThread": "void (ptr)",
        "PyEval_SaveThread": "ptr ()",
        "PyFloat_AsDouble": "double (ptr)",
        "PyList_GetItem": "ptr (ptr, i64)",
        "PyList_New": "ptr (i64)",
        "PyList_SetItem": "i32 (ptr, i64, ptr)",
        "PyList_Size": "i64 (ptr)",
        "PyLong_AsLongLongAndOverflow": "i64 (ptr, ptr)",
        "PyLong_AsVoidPtr": "ptr (ptr)",
        "PyObject_CallNoArgs": "ptr (ptr)",
        "PyObject_CallObject": "ptr (ptr, ptr)",
        "PyObject_Size": "i64 (ptr)",
        "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
        "PySequence_Tuple": "ptr (ptr)",
        "PyTuple_GetItem": "ptr (ptr, i64)",
        "PyTuple_New": "ptr (i64)",
        "PyTuple_SetItem": "i32 (ptr, i64, ptr)",
        "PyTuple_Size": "i64 (ptr)",
        "Py_DecRef": "void (ptr)",
        "Py_IncRef": "void (ptr)",
    }
)
NUMPY_FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "PyArray_NewFromDescr": "ptr (ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)",
        "PyArray_ScalarAsCtype": "void (ptr, ptr)",
    }
)

# Symbols that stand for objects.
OBJECTS: Mapping[str, object] = MappingProxyType(
    {
        "python_none": None,
        "python_false": False,
        "python_true": True,
        "python_float": float,
        "python_int": int,
        "python_list": list,
        "python_not_implemented": NotImplemented,
        "python_tuple": tuple,
    }
)
ARRAY_TYPE = "numpy_ndarray"


def module(*functions: str) -> str:
    """The LLVM module with these functions."""
    lines = [f"@{name} = external global i8" for name in (*OBJECTS, ARRAY_TYPE)]
    lines.append(declarations({**PYTHON_FUNCTIONS, **NUMPY_FUNCTIONS}))
    return "\n".join([*lines, *functions])


class CallText(StructWriter):
    """The text of one function, with tests that leave a straight line."""

    def word(self, pointer: str, index: str) -> str:
        """The place of a word."""
        return self.address("i64", pointer, index)

    def array(self, program: str, index: str) -> str:
        """The place of an array's record."""
        return self.entry_of(ARRAY, self.field(PROGRAM, program, "arrays"), index)

    def require(self, condition: str, otherwise: str) -> None:
        """Go on where an instruction gives true, else to a label."""
        going = self.fresh("going")
        self.branch(self.emit(condition), going, otherwise)
        self.label(going)

    def decide(self, condition: str, then: str, otherwise: str) -> None:
        """Go to a label by what an instruction gives."""
        self.branch(self.emit(condition), then, otherwise)

    def function(self, result: str, name: str, parameters: str, linkage: str = "internal ") -> str:
        """The definition of a function with this text."""
        return self.define(name, parameters, "nounwind", linkage, result)

    def predicate(self, name: str, parameters: str) -> str:
        """The definition of a function that gives true at the end of this text, false at `no`."""
        self.ret("i1 true")
        self.label("no")
        self.ret("i1 false")
        return self.function("i1", name, parameters)
