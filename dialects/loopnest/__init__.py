"""The loopnest dialect: loop nests, their bodies, scalar programs, and the ops on buffers."""
