"""Every table and figure of the paper, run here and put beside what is printed: on its data, or in miniature."""
