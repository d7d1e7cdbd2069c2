"""A language model in a file of this machine: the file, and the program that serves it.

`coterie_llm.local` starts and ends that program; here is only what the program needs, so
that it holds little memory beside the model.
"""
