"""Observations of the rules come in; Findings with a status, and the Review they make up, go out."""
