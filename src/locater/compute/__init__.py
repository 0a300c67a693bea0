"""Where and how numbers are computed: device, precision, CUDA graphs, int8 quantization."""
