"""Pictures: similarity matrices, walks over them, the graph in space, styles."""
