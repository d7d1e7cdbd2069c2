"""Cooperating under partial observation: relevance, plan validation, few messages (REVECA)."""
