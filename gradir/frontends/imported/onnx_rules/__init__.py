"""Rules of ONNX's operators, by kind; `table.py` joins them."""
