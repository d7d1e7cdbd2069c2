"""What all benches share: how a command is run, records, tables, intervals, processes."""
