"""MAP, ensembles, mean-field variational inference, SWAG and dropout in PyTorch, for comparison.

One pass over 100,000 simulated rows of 90 features, an MLP 90-50-1 with tanh units, batches of 512 rows: the
problem of the bench `approximate`. Priors N(0, 1) on weights, an inverse gamma on the noise variance. Batches are
rows of one shuffled order, as a data loader of tensors gives them at its cheapest. Each method makes one pass to warm
up and then PASSES more, of which the median time is printed.

    pip install torch
    python benches/peers/rivals_torch.py [PASSES] [THREADS] [float32|float64]
"""

import math
import statistics
import sys
import time

import torch

passes = int(sys.argv[1]) if len(sys.argv) > 1 else 5
threads = int(sys.argv[2]) if len(sys.argv) > 2 else 2
dtype = sys.argv[3] if len(sys.argv) > 3 else "float64"
torch.set_num_threads(threads)
torch.set_default_dtype(getattr(torch, dtype))
torch.manual_seed(1)
N, D, H, BATCH, MEMBERS = 100_000, 90, 50, 512, 5

x = torch.randn(N, D)
y = torch.tanh(x[:, 0] + 0.5 * x[:, 1] * x[:, 2]) + 0.3 * torch.randn(N)


def batches():
    order = torch.randperm(N)
    for k in range(N // BATCH):
        rows = order[k * BATCH : (k + 1) * BATCH]
        yield x[rows], y[rows]


def log_lik(f, y, eta):
    return -0.5 * (math.log(2 * math.pi) + eta + (y - f) ** 2 * torch.exp(-eta)).sum()


def log_prior_of_noise(eta):
    return (-2 * eta - 0.5 * torch.exp(-eta)).sum()


class Network(torch.nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.hidden, self.output = torch.nn.Linear(D, H), torch.nn.Linear(H, 1)
        self.eta = torch.nn.Parameter(torch.zeros(1))
        self.dropout = torch.nn.Dropout(dropout) if dropout > 0 else torch.nn.Identity()

    def loss(self, x, y):
        f = self.output(self.dropout(torch.tanh(self.hidden(x)))).squeeze(1)
        weights = [*self.hidden.parameters(), *self.output.parameters()]
        prior = -0.5 * sum((w * w).sum() for w in weights) + log_prior_of_noise(self.eta)
        return -(N / len(y) * log_lik(f, y, self.eta) + prior)


class MeanField(torch.nn.Module):
    def __init__(self):
        super().__init__()
        pair = lambda *shape, scale=0.0: torch.nn.ParameterList(
            [scale * torch.randn(*shape), torch.full(shape, math.log(0.05))]
        )
        self.layers = torch.nn.ModuleList(
            [pair(H, D, scale=D**-0.5), pair(H), pair(1, H, scale=H**-0.5), pair(1)]
        )
        self.eta = pair(1)

    def loss(self, x, y):
        w0, b0, w1, b1 = self.layers

        def layer(h, w, b):
            mean = torch.nn.functional.linear(h, w[0], b[0])
            variance = torch.nn.functional.linear(h * h, (2 * w[1]).exp(), (2 * b[1]).exp())
            return mean + variance.sqrt() * torch.randn_like(mean)

        f = layer(torch.tanh(layer(x, w0, b0)), w1, b1).squeeze(1)
        eta = self.eta[0] + self.eta[1].exp() * torch.randn(1)
        kl = sum(0.5 * ((2 * s).exp() + m * m - 1 - 2 * s).sum() for m, s in self.layers)
        free = log_prior_of_noise(eta) + self.eta[1].sum() - kl
        return -(N / len(y) * log_lik(f, y, eta) + free)


def one_pass(models, optimisers, after=lambda model, step: None):
    for model, optimiser in zip(models, optimisers):
        for step, (x, y) in enumerate(batches()):
            optimiser.zero_grad()
            model.loss(x, y).backward()
            optimiser.step()
            after(model, step)


def adam(models):
    return [torch.optim.Adam(model.parameters(), lr=0.003) for model in models]


class Iterates:
    """Running moments of every fifth iterate, and the deviations of the last 20."""

    def __init__(self, model):
        flat = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
        self.n, self.mean, self.square, self.last = 0, torch.zeros_like(flat), torch.zeros_like(flat), []

    def __call__(self, model, step):
        if step % 5 == 4:
            q = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
            self.n += 1
            self.mean += (q - self.mean) / self.n
            self.square += (q * q - self.square) / self.n
            self.last = [*self.last[-19:], q - self.mean]


def timed(name, models, optimisers, after=lambda model, step: None):
    one_pass(models, optimisers, after)
    wall, cpu = [], []
    for _ in range(passes):
        began, used = time.perf_counter(), time.process_time()
        one_pass(models, optimisers, after)
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - used)
    print(f"{name:16} {statistics.median(wall):7.3f} s a pass, {statistics.median(cpu):7.3f} s of processors")


print(f"torch {torch.__version__}, {threads} threads, {dtype}")
network = [Network()]
timed("MAP", network, adam(network))
members = [Network() for _ in range(MEMBERS)]
timed(f"ensemble of {MEMBERS}", members, adam(members))
field = [MeanField()]
timed("mean-field VI", field, adam(field))
network = [Network()]
sgd = [torch.optim.SGD(network[0].parameters(), lr=1e-7, momentum=0.9)]
timed("SWAG", network, sgd, Iterates(network[0]))
network = [Network(0.1)]
timed("dropout", network, adam(network))
