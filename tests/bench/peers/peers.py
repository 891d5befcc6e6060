"""Times PyTorch and transformers on what mamba2_bench times, in turns with it, and prints the ratios as a table.

  build/oracle-venv/bin/python tests/bench/peers/peers.py build/release/bin/mamba2_bench [--rounds N]

Both use two threads. Each figure is the median of its rounds; of PyTorch's chunk lengths the fastest counts. Results are compared
with a plain recurrence first."""

import argparse
import csv
import statistics
import subprocess
import tempfile
import time

import torch

from ssd import Block, scan

THREADS = 2


def median_ms(work, rounds):
    work()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def check_scan():
    """The scan against the recurrence, in f64."""
    torch.manual_seed(1)
    b, T, H, P, N = 2, 24, 3, 4, 5
    x, dt = torch.randn(b, T, H, P, dtype=torch.float64), torch.rand(b, T, H, dtype=torch.float64)
    B, C = (torch.randn(b, T, N, dtype=torch.float64) for _ in range(2))
    A, D = -1 - torch.arange(H, dtype=torch.float64), torch.ones(H, dtype=torch.float64)
    h, ys = torch.zeros(b, H, P, N, dtype=torch.float64), []
    for t in range(T):
        h = h * (dt[:, t] * A).exp()[..., None, None] + (dt[:, t, :, None] * x[:, t])[..., None] * B[:, t, None, None]
        ys.append((h * C[:, t, None, None]).sum(-1) + D[:, None] * x[:, t])
    for chunk in (6, 24):
        assert torch.allclose(scan(x, dt, A, B, C, D, chunk), torch.stack(ys, 1), atol=1e-12), "the scan is wrong"


def scan_times(b, T, H, P, N, dtype, rounds):
    """Milliseconds of the forward pass, and of both passes."""
    x = torch.randn(b, T, H, P, dtype=dtype, requires_grad=True)
    dt = (0.01 * torch.randn(b, T, H, dtype=dtype)).abs().requires_grad_()
    B, C = (torch.randn(b, T, N, dtype=dtype, requires_grad=True) for _ in range(2))
    A, D = -torch.ones(H, dtype=dtype).requires_grad_(), torch.ones(H, dtype=dtype, requires_grad=True)
    d_y = torch.randn(b, T, H, P, dtype=dtype)
    chunks = [20, 30, 60] if T == 60 else [32, 64, 128]

    def forward(chunk):
        with torch.no_grad():
            scan(x, dt, A, B, C, D, chunk)

    def both(chunk):
        torch.autograd.grad(scan(x, dt, A, B, C, D, chunk), (x, dt, A, B, C, D), d_y)

    return [min(median_ms(lambda: work(chunk), rounds) for chunk in chunks) for work in (forward, both)]


def block_times(d_state, dtype, rounds):
    """Of PyTorch's block at batch 8, 60 steps, d_model 512: forward, and both passes."""
    u, d_y = torch.randn(8, 60, 512, dtype=dtype, requires_grad=True), torch.randn(8, 60, 512, dtype=dtype)
    best = [float("inf")] * 2
    for chunk in (20, 60):
        block = Block(512, d_state, chunk=chunk).to(dtype)

        def forward():
            with torch.no_grad():
                block(u)

        def both():
            torch.autograd.grad(block(u), (u, *block.parameters()), d_y)

        best = [min(least, median_ms(work, rounds)) for least, work in zip(best, (forward, both))]
    return best


def transformers_times(d_state, rounds):
    """Of transformers' mixer with the same shape, f32, on its path without kernels."""
    from transformers import Mamba2Config
    from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer

    config = Mamba2Config(hidden_size=512, state_size=d_state, head_dim=64, num_heads=16, n_groups=1, expand=2, chunk_size=60,
                          num_hidden_layers=1, use_conv_bias=True, use_bias=False)
    mixer = Mamba2Mixer(config, layer_idx=0)
    u, d_y = torch.randn(8, 60, 512, requires_grad=True), torch.randn(8, 60, 512)

    def forward():
        with torch.no_grad():
            mixer(u)

    def both():
        torch.autograd.grad(mixer(u), (u, *mixer.parameters()), d_y, allow_unused=True)

    return median_ms(forward, rounds), median_ms(both, rounds)


def step_time(d_state, dtype, rounds):
    """One step of one stream through PyTorch's block."""
    block = Block(512, d_state).to(dtype)
    u = torch.randn(1, 512, dtype=dtype)
    window = torch.zeros(1, block.channels, block.d_conv, dtype=dtype)
    h = torch.zeros(1, block.heads, block.headdim, d_state, dtype=dtype)

    def steps():
        with torch.inference_mode():
            for _ in range(50):
                block.step(u, window, h)

    return median_ms(steps, rounds) / 50


def our_times(bench, section, rounds):
    """What mamba2_bench measures on two threads: {(what, type, shape, pass): ms}."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        subprocess.run([bench, "--rounds", str(rounds), "--only", section, "--times", file.name], check=True,
                       stdout=subprocess.DEVNULL)
        with open(file.name, newline="") as lines:
            return {(row["what"], row["type"], row["shape"], row["pass"]): float(row["ms"])
                    for row in csv.DictReader(lines) if row["threads"] == str(THREADS)}


def print_row(what, peer, theirs, ours):
    print(f"| {what} | {peer} | {theirs:.2f} | {ours:.2f} | {theirs / ours:.1f} |", flush=True)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("bench", help="mamba2_bench")
    arguments.add_argument("--rounds", type=int, default=9)
    arguments = arguments.parse_args()
    torch.set_num_threads(THREADS)
    check_scan()

    print(f"PyTorch {torch.__version__}, {THREADS} threads.\n")
    print("| what | peer | peer, ms | Tutti, ms | times faster |\n| --- | --- | --- | --- | --- |")
    types = {"f32": torch.float32, "f64": torch.float64}
    ours = our_times(arguments.bench, "block", arguments.rounds)
    for name, dtype in types.items():
        for d_state in (16, 128):
            theirs = block_times(d_state, dtype, arguments.rounds)
            shape = f"8x60x512 N{d_state}"
            for label, time_ in zip(("forward", "forward+backward"), theirs):
                print_row(f"block {shape}, {name}, {label}", "PyTorch", time_, ours["block", name, shape, label])
            if name == "f32":
                for label, time_ in zip(("forward", "forward+backward"), transformers_times(d_state, arguments.rounds)):
                    print_row(f"block {shape}, {name}, {label}", "transformers", time_, ours["block", name, shape, label])
    ours = our_times(arguments.bench, "scan", arguments.rounds)
    for b, T, H, P, N in ((8, 60, 16, 64, 16), (8, 60, 16, 64, 128), (1, 2048, 24, 64, 16), (1, 2048, 24, 64, 128), (1, 16384, 24, 64, 128)):
        theirs = scan_times(b, T, H, P, N, torch.float32, arguments.rounds if T < 4096 else 2)
        shape = f"{b}x{T} H{H} P{P} N{N}"
        for label, time_ in zip(("forward", "forward+backward"), theirs):
            print_row(f"scan {shape}, f32, {label}", "PyTorch", time_, ours["scan", "f32", shape, label])
    ours = our_times(arguments.bench, "step", arguments.rounds)
    for name, dtype in types.items():
        shape = "1x512 N16"
        print_row(f"step {shape}, {name}", "PyTorch", step_time(16, dtype, arguments.rounds), ours["step", name, shape, "step"])


if __name__ == "__main__":
    main()
