"""Language models at endpoints, their tokens and prices."""
