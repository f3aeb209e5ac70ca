"""Programs of other systems, replayed on the tracer: graphs, tables of rules, and the replay."""
