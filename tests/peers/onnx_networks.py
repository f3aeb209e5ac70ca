"""Networks of PyTorch that test_onnx.py writes as ONNX files."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class Residual(nn.Module):
    """A residual block with a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 3, 3, padding=1)
        self.out = nn.Linear(3, 4)

    def forward(self, x: Any) -> Any:
        y = torch.relu(self.second(torch.relu(self.norm(self.first(x)))) + x)
        pooled = nn.functional.adaptive_avg_pool2d(nn.functional.max_pool2d(y, 2), 1)
        return self.out(pooled.flatten(1))


class Attention(nn.Module):
    """A transformer block of 4 heads, before whose parts layer norms stand."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(16), nn.LayerNorm(16)
        self.inner, self.outer = nn.Linear(16, 48), nn.Linear(16, 16)
        self.wide, self.narrow = nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x: Any) -> Any:
        n, t, d = x.shape
        parts = self.inner(self.before(x)).reshape(n, t, 3, 4, d // 4).permute(2, 0, 3, 1, 4)
        q, k, v = parts[0], parts[1], parts[2]
        weights = torch.softmax(q @ k.transpose(-1, -2) / 2.0, dim=-1)
        x = x + self.outer((weights @ v).transpose(1, 2).reshape(n, t, d))
        return x + self.narrow(nn.functional.gelu(self.wide(self.after(x))))


class Sequence(nn.Module):
    """An LSTM whose last state is read."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(5, 7, batch_first=True)
        self.out = nn.Linear(7, 3)

    def forward(self, x: Any) -> Any:
        return self.out(self.lstm(x)[0][:, -1])
