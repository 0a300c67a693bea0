"""A network as ONNX graphs, and what runs them without PyTorch."""
