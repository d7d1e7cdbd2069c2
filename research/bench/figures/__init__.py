"""The figures of the results: which bench measures which table, and what moved."""
