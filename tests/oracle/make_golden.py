"""Makes the golden files that golden_test.cpp compares with; see golden/PROVENANCE.md.

    build/oracle-venv/bin/python tests/oracle/make_golden.py
"""

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import save_file

import hf_parity
from mamba2_reference import Shape, block

GOLDEN = Path(__file__).parent / "golden"

# name: (shape, rows, steps, chunk of the kernels that are compared)
BLOCKS = {
    "plain": (Shape(), 2, 9, 4),
    "groups": (Shape(ngroups=3), 2, 9, 4),
    "groups-whole-norm": (Shape(ngroups=3, grouped_norm=False, epsilon=1e-3), 2, 9, 4),
    "groups-norm-before-gate": (Shape(ngroups=3, norm_before_gate=True), 1, 7, 3),
    "whole-norm-before-gate": (Shape(ngroups=3, grouped_norm=False, norm_before_gate=True), 1, 7, 3),
    "no-norm": (Shape(rmsnorm=False), 1, 7, 4),
    "mlp-biases": (Shape(d_inner=17, bias=True, conv_bias=False, d_conv=2), 2, 7, 4),
    "mlp-groups": (Shape(d_inner=15, ngroups=3, bias=True), 1, 7, 4),
    "D-per-channel": (Shape(d_model=5, d_inner=10, d_ssm=10, headdim=2, ngroups=5, d_has_hdim=True), 2, 6, 1),
    "limited-time-steps": (Shape(dt_limit_min=0.4, dt_limit_max=0.9), 2, 9, 4),
    "wide-convolution": (Shape(headdim=12, d_state=1, d_conv=8), 1, 11, 4),
    "several-chunks": (Shape(d_model=4, d_inner=8, d_ssm=8, headdim=2, ngroups=2, d_state=16), 1, 37, 16),
}
# small models of transformers: its configuration, rows, steps
SMALL = dict(vocab_size=11, hidden_size=8, head_dim=2, num_heads=8, state_size=4, num_hidden_layers=2, chunk_size=8)
MODELS = {
    "hf-one-group": (dict(SMALL, n_groups=1, tie_word_embeddings=True), 2, 13),
    "hf-eight-groups": (dict(SMALL, n_groups=8, use_bias=True, time_step_limit=(0.02, 0.08), conv_kernel=3), 2, 13),
}


def randn(*size):
    return torch.randn(*size, dtype=torch.float64)


def make_block(name, shape, rows, steps, chunk):
    p = {}
    for key, size in shape.parameter_shapes().items():
        p[key] = randn(*size) * (0.3 if "weight" in key else 0.5) + (1 if key in ("norm.weight", "D") else 0)
    inputs = {
        "x": randn(rows, steps, shape.d_model),
        "conv0": randn(rows, shape.d_conv - 1, shape.conv_channels),
        "ssm0": randn(rows, shape.heads, shape.headdim, shape.d_state),
    }
    leaves = {**p, **inputs}
    for value in leaves.values():
        value.requires_grad_()
    outputs = dict(zip(("y", "conv1", "ssm1"), block(shape, p, *inputs.values())))
    d_outputs = {key: randn(*value.shape) for key, value in outputs.items()}
    gradients = torch.autograd.grad(list(outputs.values()), list(leaves.values()), list(d_outputs.values()))
    tensors = {**leaves, **outputs, **{f"d_{key}": value for key, value in d_outputs.items()},
               **{f"d_{key}": value for key, value in zip(leaves, gradients)}}
    metadata = {"shape": json.dumps({**asdict(shape), "chunk": chunk})}
    save_file({key: value.detach().contiguous() for key, value in tensors.items()}, GOLDEN / f"{name}.safetensors", metadata)


def make_model(name, configuration, rows, steps, seed):
    model = hf_parity.draw(configuration, seed)
    tokens = torch.randint(0, model.config.vocab_size, (rows, steps))
    output = model(input_ids=tokens, labels=tokens, use_cache=False)
    output.loss.backward()
    folder = GOLDEN / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    save_file({"tokens": tokens, "logits": output.logits.detach(), "loss": output.loss.detach(),
               **{key: weight.grad for key, weight in model.named_parameters()}}, folder / "expected.safetensors")


def main():
    torch.manual_seed(20)
    for name, arguments in BLOCKS.items():
        make_block(name, *arguments)
    for seed, (name, arguments) in enumerate(MODELS.items()):
        make_model(name, *arguments, seed)


if __name__ == "__main__":
    main()
