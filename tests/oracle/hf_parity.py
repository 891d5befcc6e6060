"""Compares Tutti's Mamba-2 with Hugging Face transformers' on random weights.

For each configuration a Mamba2ForCausalLM is drawn and saved as transformers saves it; bin/mamba2 reads the folder and
computes logits, loss and gradients in f32, which must be those of transformers: logits within 2e-5 of the largest, every
gradient within 1e-3 of the weight's largest. Then the model is converted to state-spaces' layout and back, and
transformers must compute the same bits from what came back.

    build/oracle-venv/bin/python tests/oracle/hf_parity.py --program build/release/bin/mamba2
"""

import argparse
import logging
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import Mamba2Config, Mamba2ForCausalLM
from transformers.utils import logging as transformers_logging

LOGITS_WITHIN = 2e-5  # f32 has 24 bits, 6e-8; some hundred operations in another order lie between input and logits
GRADIENTS_WITHIN = 1e-3
SHAPE = dict(vocab_size=97, hidden_size=32, expand=2, head_dim=8, num_heads=8, state_size=16, num_hidden_layers=3, chunk_size=16)

# name: (changes to SHAPE, rows, steps). A length that is no multiple of chunk_size unless said otherwise.
CONFIGURATIONS = {
    "one group": (dict(n_groups=1), 2, 50),
    "eight groups of two heads": (dict(n_groups=8, head_dim=4, num_heads=16), 2, 37),
    "biases, a short convolution, tied": (dict(n_groups=2, use_bias=True, conv_kernel=2, tie_word_embeddings=True), 3, 21),
    "limited time steps, no convolution bias": (
        dict(n_groups=4, time_step_limit=(0.02, 0.08), use_conv_bias=False, conv_kernel=3), 2, 64),
    "wide state, one step above a chunk, another epsilon": (
        dict(n_groups=8, state_size=64, chunk_size=32, layer_norm_epsilon=1e-3, num_hidden_layers=2), 1, 33),
    "eight groups, norm over all channels": (dict(n_groups=8, head_dim=4, num_heads=16), 2, 37),
}
WHOLE_NORM = "eight groups, norm over all channels"  # as in transformers up to 5.22


def draw(changes, seed):
    """A model whose every weight matters: biases and norms aren't left at 0 and 1, nor embeddings tiny."""
    torch.manual_seed(seed)
    model = Mamba2ForCausalLM(Mamba2Config(**{**SHAPE, **changes}))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(("norm.weight", "norm_f.weight", ".D")):
                weight.copy_(1 + 0.3 * torch.randn_like(weight))
            elif name.endswith((".bias", "dt_bias")):
                weight.add_(0.3 * torch.randn_like(weight))
            elif name.endswith("embeddings.weight"):
                weight.copy_(torch.randn_like(weight))
    return model.eval()


def relative(ours, theirs):
    """The largest difference as a part of the largest value; infinite where a value is no number."""
    difference = (ours.double() - theirs.double()).abs().max().item()
    largest = theirs.double().abs().max().item()
    if not math.isfinite(difference):
        return math.inf
    return difference / largest if largest else difference


def run(program, *arguments):
    subprocess.run([program, *map(str, arguments)], check=True)


def compare(program, name, changes, rows, steps, seed):
    model = draw(changes, seed)
    whole_norm = ["--whole-norm"] if name == WHOLE_NORM else []
    if whole_norm:
        for layer in model.backbone.layers:
            layer.mixer.norm.group_size = layer.mixer.intermediate_size
    tokens = torch.randint(0, model.config.vocab_size, (rows, steps))
    output = model(input_ids=tokens, labels=tokens, use_cache=False)
    output.loss.backward()
    gradients = {name: weight.grad for name, weight in model.named_parameters()}

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        model.save_pretrained(folder / "hf")
        save_file({"tokens": tokens}, folder / "tokens.safetensors")
        run(program, "run", folder / "hf", "--tokens", folder / "tokens.safetensors", "--out", folder / "out.safetensors",
            "--gradients", *whole_norm)
        ours = load_file(folder / "out.safetensors")
        logits = relative(ours["logits"], output.logits.detach())
        loss = relative(ours["loss"], output.loss.detach())
        missing = set(gradients) ^ (set(ours) - {"logits", "loss"})
        if missing:
            return f"{name}: gradients of {sorted(missing)} are on one side only"
        worst = max(gradients, key=lambda key: relative(ours[key], gradients[key]))
        gradient = relative(ours[worst], gradients[worst])
        print(f"{name}: logits {logits:.1e}, loss {loss:.1e}, gradients {gradient:.1e} ({worst})")
        if logits > LOGITS_WITHIN or gradient > GRADIENTS_WITHIN or loss > LOGITS_WITHIN:
            return f"{name}: off by more than {LOGITS_WITHIN} (logits, loss) or {GRADIENTS_WITHIN} (gradients)"

        if not whole_norm:  # which no transformers from 5.23 on would read back
            middle = "hf" if "layer_norm_epsilon" in changes else "state-spaces"  # which knows no epsilon but 1e-5
            run(program, "convert", "--from", folder / "hf", "--to", folder / "middle", "--layout", middle)
            run(program, "convert", "--from", folder / "middle", "--to", folder / "back", "--layout", "hf")
            back, loading = Mamba2ForCausalLM.from_pretrained(folder / "back", output_loading_info=True)
            if any(loading.get(key) for key in ("missing_keys", "unexpected_keys", "mismatched_keys")):
                return f"{name}: transformers misses or refuses weights of what came back: {loading}"
            if not torch.equal(back.eval()(input_ids=tokens, use_cache=False).logits, output.logits):
                return f"{name}: transformers computes other bits from what came back"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="bin/mamba2 of a build")
    program = parser.parse_args().program
    transformers_logging.set_verbosity(logging.ERROR)
    transformers_logging.disable_progress_bar()
    torch.use_deterministic_algorithms(True)
    problems = [compare(program, name, *configuration, seed)
                for seed, (name, configuration) in enumerate(CONFIGURATIONS.items())]
    problems = [problem for problem in problems if problem]
    for problem in problems:
        print(f"FAILED: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
