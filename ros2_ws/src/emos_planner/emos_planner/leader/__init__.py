"""The leader: splits a task, discusses it with the robots, watches over its execution."""
