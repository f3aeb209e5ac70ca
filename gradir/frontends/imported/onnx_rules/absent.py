"""ONNX's operators that are not there, and why."""

from __future__ import annotations

from gradir.frontends.imported.onnx_rules.arguments import OnnxRules

RULES = OnnxRules()

RULES.refuse(
    "its random numbers are not specified; hand them in as an input",
    *("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli"),
    "Multinomial",
)
RULES.refuse("programs with complex numbers are not read", "DFT", "STFT")
RULES.refuse(
    "there are no strings",
    *("StringNormalizer", "StringConcat", "StringSplit", "RegexFullMatch", "TfIdfVectorizer"),
    "ai.onnx.ml.LabelEncoder",
)
RULES.refuse("it reads a file format", "ImageDecoder")
RULES.refuse(
    "a value is an array; sequences and optional values are not",
    *("SequenceEmpty", "SequenceConstruct", "SequenceAt", "SequenceInsert", "SequenceErase"),
    *("SequenceLength", "SequenceMap", "SplitToSequence", "ConcatFromSequence"),
    *("Optional", "OptionalGetElement", "OptionalHasElement"),
)
RULES.refuse("the shape of the result depends on values", "NonMaxSuppression")
RULES.refuse("it updates parameters; gradir.optim has optimizers", *(
    f"ai.onnx.preview.training.{name}" for name in ("Adagrad", "Adam", "Momentum", "Gradient")
))  # fmt: skip
