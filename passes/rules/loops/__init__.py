"""How loops are differentiated: with tapes, or with snapshots and replays of segments."""
