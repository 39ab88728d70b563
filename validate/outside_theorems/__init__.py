"""Sixty statements on federated averaging by people who had not seen this package, put on trial as they stand."""
