"""Compiled loops. Nothing outside this folder imports the compiler."""
