"""Mamba-2 in PyTorch as one would write it there: the chunked scan of "Transformers are SSMs" (arXiv 2405.21060, section 6)
with batched products, B and C shared by the heads of a group without copies, and the block around it. No kernels of
its own; what a PyTorch user has on a CPU."""

import torch
import torch.nn.functional as F


def segment_sums(a):
    """a [..., Q] to [..., Q, Q]: the sums of a over s < k <= l, -inf above the diagonal."""
    length = a.shape[-1]
    cumulative = a.cumsum(-1)
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    return (cumulative[..., :, None] - cumulative[..., None, :]).masked_fill(~mask, float("-inf"))


def scan(x, dt, A, B, C, D, chunk):
    """x [b,T,H,P], dt [b,T,H], A and D [H], B and C [b,T,N]: y [b,T,H,P]. T is a multiple of chunk."""
    b, T, H, P = x.shape
    N, c, Q = B.shape[-1], T // chunk, chunk
    inputs = (x * dt[..., None]).view(b, c, Q, H, P).permute(0, 1, 3, 2, 4)  # [b,c,H,Q,P]
    exponent = (dt * A).view(b, c, Q, H).permute(0, 1, 3, 2)  # [b,c,H,Q]
    B, C = B.view(b, c, 1, Q, N), C.view(b, c, 1, Q, N)  # shared by all heads
    cumulative = exponent.cumsum(-1)
    y = (segment_sums(exponent).exp() * (C @ B.transpose(-1, -2))) @ inputs
    if c > 1:
        to_end = (cumulative[..., -1:] - cumulative).exp()
        states = (inputs * to_end[..., None]).transpose(-1, -2) @ B  # [b,c,H,P,N]
        whole = cumulative[..., -1].exp()[..., None, None]
        before, state = [], torch.zeros_like(states[:, 0])
        for i in range(c):
            before.append(state)
            state = state * whole[:, i] + states[:, i]
        y = y + cumulative.exp()[..., None] * (C @ torch.stack(before, 1).transpose(-1, -2))
    y = y.permute(0, 1, 3, 2, 4).reshape(b, T, H, P)
    return y + D[:, None] * x


class Block(torch.nn.Module):
    """One Mamba-2 block with the defaults of the reference: one group, gate before the norm, no biases but the convolution's."""

    def __init__(self, d_model, d_state, headdim=64, d_conv=4, chunk=64):
        super().__init__()
        self.inner, self.state, self.headdim, self.chunk = 2 * d_model, d_state, headdim, chunk
        self.heads, self.d_conv = self.inner // headdim, d_conv
        self.channels = self.inner + 2 * d_state
        self.in_proj = torch.nn.Linear(d_model, 2 * self.inner + 2 * d_state + self.heads, bias=False)
        self.conv = torch.nn.Conv1d(self.channels, self.channels, d_conv, groups=self.channels, padding=d_conv - 1)
        self.dt_bias = torch.nn.Parameter(torch.full((self.heads,), -4.6))
        self.A_log = torch.nn.Parameter(torch.log(1.0 + torch.arange(self.heads) % 16))
        self.D = torch.nn.Parameter(torch.ones(self.heads))
        self.norm_weight = torch.nn.Parameter(torch.ones(self.inner))
        self.out_proj = torch.nn.Linear(self.inner, d_model, bias=False)

    def gated_norm(self, y, z):
        v = y * F.silu(z)
        return v * torch.rsqrt(v.square().mean(-1, keepdim=True) + 1e-5) * self.norm_weight

    def forward(self, u):
        b, T, _ = u.shape
        z, xBC, dt = self.in_proj(u).split([self.inner, self.channels, self.heads], -1)
        xBC = F.silu(self.conv(xBC.transpose(1, 2))[..., :T].transpose(1, 2))
        x, B, C = xBC.split([self.inner, self.state, self.state], -1)
        dt = F.softplus(dt + self.dt_bias)
        y = scan(x.reshape(b, T, self.heads, self.headdim), dt, -self.A_log.exp(), B, C, self.D, min(self.chunk, T))
        return self.out_proj(self.gated_norm(y.reshape(b, T, self.inner), z))

    def step(self, u, window, h):
        """u [b,d_model], window [b,channels,d_conv] and h [b,H,P,N], both updated: y [b,d_model]."""
        z, xBC, dt = self.in_proj(u).split([self.inner, self.channels, self.heads], -1)
        window.copy_(window.roll(-1, -1))
        window[..., -1] = xBC
        xBC = F.silu((window * self.conv.weight[:, 0]).sum(-1) + self.conv.bias)
        x, B, C = xBC.split([self.inner, self.state, self.state], -1)
        dt = F.softplus(dt + self.dt_bias)
        x = x.view(-1, self.heads, self.headdim)
        decay = (dt * -self.A_log.exp()).exp()
        h.mul_(decay[..., None, None]).add_((dt[..., None] * x)[..., None] * B[:, None, None, :])
        y = (h @ C[:, None, :, None])[..., 0] + self.D[:, None] * x
        return self.out_proj(self.gated_norm(y.reshape(-1, self.inner), z))
