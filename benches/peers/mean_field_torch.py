"""Mean-field variational inference with local reparameterisation in PyTorch, for comparison.

An MLP 90-50-1, tanh, on 100,000 simulated rows; N(0, 1) priors; Adam in batches of 512 rows; the log
variance of the noise has a normal of its own, and the prior that the crate calls LogInverseGamma(2, 0.5).
Prints wall-clock and processor time per epoch and the mean of the estimates of the bound in the last one.

    python benches/peers/mean_field_torch.py EPOCHS THREADS {float32,float64}
"""

import math
import sys
import time

import torch

epochs, threads = int(sys.argv[1]), int(sys.argv[2])
dtype = getattr(torch, sys.argv[3])
torch.set_num_threads(threads)
torch.set_default_dtype(dtype)
torch.manual_seed(1)
N, D, H, BATCH = 100_000, 90, 50, 512

x = torch.randn(N, D)
y = torch.tanh(x[:, 0] + 0.5 * x[:, 1] * x[:, 2]) + 0.3 * torch.randn(N)


def normals(*shape, scale=0.0):
    """Means, and log standard deviations."""
    mean = (scale * torch.randn(*shape)).requires_grad_()
    return mean, torch.full(shape, math.log(0.02)).requires_grad_()


w0, b0 = normals(H, D, scale=D**-0.5), normals(H)
w1, b1 = normals(1, H, scale=H**-0.5), normals(1)
eta = normals(1)
weights = [w0, b0, w1, b1]
optimiser = torch.optim.Adam([p for pair in [*weights, eta] for p in pair], lr=0.003)
steps = epochs * (N // BATCH)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)


def layer(h, w, b):
    mean = torch.nn.functional.linear(h, w[0], b[0])
    variance = torch.nn.functional.linear(h * h, (2 * w[1]).exp(), (2 * b[1]).exp())
    return mean + variance.sqrt() * torch.randn_like(mean)


def kl(mean, log_sd):
    """From N(mean, sd^2) to N(0, 1), summed."""
    return 0.5 * ((2 * log_sd).exp() + mean * mean - 1 - 2 * log_sd).sum()


def bound(x, y):
    f = layer(torch.tanh(layer(x, w0, b0)), w1, b1).squeeze(1)
    e = eta[0] + eta[1].exp() * torch.randn(1)
    ell = -0.5 * (math.log(2 * math.pi) + e + (y - f) ** 2 * torch.exp(-e)).sum()
    prior = 2 * math.log(0.5) - 2 * e - 0.5 * torch.exp(-e)
    entropy = eta[1] + 0.5 * (1 + math.log(2 * math.pi))
    return N / len(y) * ell + (prior + entropy).sum() - sum(kl(*pair) for pair in weights)


wall, cpu = time.perf_counter(), time.process_time()
for epoch in range(epochs):
    order = torch.randperm(N)
    total = 0.0
    for k in range(N // BATCH):
        rows = order[k * BATCH : (k + 1) * BATCH]
        optimiser.zero_grad()
        loss = -bound(x[rows], y[rows])
        loss.backward()
        optimiser.step()
        schedule.step()
        total -= loss.item()
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print(
    f"torch {torch.__version__}, {threads} threads, {sys.argv[3]}: {epochs} epochs, "
    f"{wall / epochs:.3f} s wall and {cpu / epochs:.3f} s cpu per epoch; bound {total / (N // BATCH):.1f}"
)
