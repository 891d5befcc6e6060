"""One Mamba-2 block in plain PyTorch, written from the equations of Dao and Gu, arXiv 2405.21060, to be compared with.

The recurrence runs step by step, one scalar decay a head, so nothing here shares a trick with the chunked kernels that
it judges; gradients are autograd's. Everything is in the dtype of its inputs, f64 for golden files. Parameter names and
options are those of state-spaces, with grouped_norm False for a norm over all channels.
"""

from dataclasses import dataclass

import torch


@dataclass
class Shape:
    d_model: int = 6
    d_inner: int = 12
    d_ssm: int = 12
    headdim: int = 4
    ngroups: int = 1
    d_state: int = 5
    d_conv: int = 4
    bias: bool = False
    conv_bias: bool = True
    rmsnorm: bool = True
    grouped_norm: bool = True
    norm_before_gate: bool = False
    d_has_hdim: bool = False
    dt_limit_min: float = 0.0
    dt_limit_max: float = 1e300
    epsilon: float = 1e-5

    @property
    def heads(self):
        return self.d_ssm // self.headdim

    @property
    def d_mlp(self):
        return self.d_inner - self.d_ssm

    @property
    def conv_channels(self):
        return self.d_ssm + 2 * self.ngroups * self.d_state

    def parameter_shapes(self):
        shapes = {
            "in_proj.weight": (2 * self.d_mlp + self.d_ssm + self.conv_channels + self.heads, self.d_model),
            "conv1d.weight": (self.conv_channels, 1, self.d_conv),
            "dt_bias": (self.heads,),
            "A_log": (self.heads,),
            "D": (self.d_ssm if self.d_has_hdim else self.heads,),
            "out_proj.weight": (self.d_model, self.d_inner),
        }
        if self.bias:
            shapes["in_proj.bias"], shapes["out_proj.bias"] = shapes["in_proj.weight"][:1], (self.d_model,)
        if self.conv_bias:
            shapes["conv1d.bias"] = (self.conv_channels,)
        if self.rmsnorm:
            shapes["norm.weight"] = (self.d_ssm,)
        return shapes


def silu(v):
    return v / (1 + torch.exp(-v))


def gated_norm(shape, p, y, z):
    """y, z [rows, steps, d_ssm]."""
    def normalise(v):
        groups = shape.ngroups if shape.grouped_norm else 1
        parts = v.unflatten(-1, (groups, -1))
        return (parts / torch.sqrt((parts * parts).mean(-1, keepdim=True) + shape.epsilon)).flatten(-2) * p["norm.weight"]

    if not shape.rmsnorm:
        return y * silu(z)
    return normalise(y) * silu(z) if shape.norm_before_gate else normalise(y * silu(z))


def causal_conv(p, x, before):
    """x [rows, steps, channels] after the inputs before [rows, width-1, channels]; gives its output and last inputs."""
    seen = torch.cat([before, x], dim=1)
    weight = p["conv1d.weight"][:, 0]  # [channels, width]
    width, steps = weight.shape[1], x.shape[1]
    y = sum(seen[:, k:k + steps] * weight[:, k] for k in range(width))
    return y + p.get("conv1d.bias", 0), seen[:, steps:]


def scan(shape, p, x, dt, B, C, h):
    """x [rows, steps, heads, headdim], dt [rows, steps, heads], B and C [rows, steps, groups, state], h the state before
    [rows, heads, headdim, state]; gives y like x and the state after."""
    A = -torch.exp(p["A_log"])
    D = p["D"].view(shape.heads, -1)  # [heads, headdim or 1]
    group = torch.arange(shape.heads) // (shape.heads // shape.ngroups)
    y = []
    for t in range(x.shape[1]):
        decay = torch.exp(dt[:, t] * A)[:, :, None, None]
        h = decay * h + (dt[:, t, :, None] * x[:, t])[..., None] * B[:, t, group][:, :, None]
        y.append((h * C[:, t, group][:, :, None]).sum(-1) + D * x[:, t])
    return torch.stack(y, dim=1), h


def block(shape, p, x, conv0, ssm0):
    """x [rows, steps, d_model]; conv0 [rows, d_conv-1, conv_channels], the convolution's inputs before the first step,
    oldest first; ssm0 [rows, heads, headdim, d_state]. Gives y like x and both states after the last step."""
    projected = x @ p["in_proj.weight"].T + p.get("in_proj.bias", 0)
    z0, x0, z, xBC, dt = projected.split([shape.d_mlp, shape.d_mlp, shape.d_ssm, shape.conv_channels, shape.heads], dim=-1)
    xBC, conv1 = causal_conv(p, xBC, conv0)
    x_ssm, B, C = silu(xBC).split([shape.d_ssm, shape.ngroups * shape.d_state, shape.ngroups * shape.d_state], dim=-1)
    dt = torch.logaddexp(dt + p["dt_bias"], torch.zeros(()).to(dt)).clamp(shape.dt_limit_min, shape.dt_limit_max)
    y, ssm1 = scan(shape, p, x_ssm.unflatten(-1, (shape.heads, -1)), dt, B.unflatten(-1, (shape.ngroups, -1)),
                   C.unflatten(-1, (shape.ngroups, -1)), ssm0)
    mixed = torch.cat([silu(z0) * x0, gated_norm(shape, p, y.flatten(-2), z)], dim=-1)
    return mixed @ p["out_proj.weight"].T + p.get("out_proj.bias", 0), conv1, ssm1
