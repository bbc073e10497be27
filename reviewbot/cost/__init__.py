"""Findings and a CPU model come in; Costs in cycles, switch budgets and evidence go out."""
