"""Training as a loop: epochs, files, charts. Its public name is gradir.Trainer."""
