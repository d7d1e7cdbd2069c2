"""`./coterie do`: a team does a task, with a leader or by a goal that its robots share."""
