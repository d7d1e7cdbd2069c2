"""Pictures and pages that commands leave: floor plans, maps, tasks, tours, reports."""
