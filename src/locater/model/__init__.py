"""The NETWORK, stateless: encoders, fusion, memory, decoder, and how to build and store them."""
