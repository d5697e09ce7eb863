"""Thin adapters to other frameworks; each module imports its own."""
