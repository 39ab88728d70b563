"""What is run, as data: problem, weighting, schedule, experiment, trajectory."""
