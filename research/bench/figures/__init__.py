"""The figures of the docs: which bench measures which table, and what moved."""
