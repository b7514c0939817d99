"""Networks of one's own for any agent and environment: plain functions, flax and equinox.

    qduet --import own_network train rdq gymnax/CartPole-v1 --network small-plain --out out/mine

run in this directory. A network is two functions over any pytree of parameters:

    init(key, observation, num_actions) -> params        # observation: its shape and type
    apply(params, observation) -> (v, adv)               # V(s) [], A(s, ·) or Q(s, ·) [|A|]

`small-plain` needs qduet alone, `small-flax` also flax, `small-equinox` also equinox (pip install
flax equinox). A network whose package is not installed is left out. CartPole needs gymnax.
"""

import sys

import jax
import jax.numpy as jnp

from qduet.deep import register_network

WIDTH = 64


# --- Plain functions ------------------------------------------------------------------------------


def init_plain(key, observation, num_actions):
    """One hidden layer for both outputs; V is the first column of the last one."""
    key_hidden, key_last = jax.random.split(key)
    hidden = jax.random.normal(key_hidden, (observation.size, WIDTH)) / observation.size**0.5
    last = jax.random.normal(key_last, (WIDTH, 1 + num_actions)) / WIDTH**0.5
    return {"hidden": hidden, "last": last}


def apply_plain(params, observation):
    """V(s) and A(s, ·)."""
    both = jnp.tanh(observation.reshape(-1) @ params["hidden"]) @ params["last"]
    return both[0], both[1:]


# --- flax -----------------------------------------------------------------------------------------


def in_flax():
    """The same network as a module of flax: its init and apply."""
    from flax import linen as nn

    class SmallFlax(nn.Module):
        num_actions: int

        @nn.compact
        def __call__(self, observation):
            x = nn.tanh(nn.Dense(WIDTH)(observation.reshape(-1)))
            return nn.Dense(1)(x)[0], nn.Dense(self.num_actions)(x)

    def init(key, observation, num_actions):
        return SmallFlax(num_actions).init(key, jnp.zeros(observation.shape))

    def apply(params, observation):
        num_actions = params["params"]["Dense_2"]["bias"].shape[0]
        return SmallFlax(num_actions).apply(params, observation)

    return init, apply


# --- equinox --------------------------------------------------------------------------------------


def in_equinox():
    """The same as a module of equinox. A module of arrays alone is its own parameters."""
    import equinox as eqx

    class SmallEquinox(eqx.Module):
        hidden: eqx.nn.Linear
        v: eqx.nn.Linear
        adv: eqx.nn.Linear

        def __call__(self, observation):
            x = jnp.tanh(self.hidden(observation.reshape(-1)))
            return self.v(x)[0], self.adv(x)

    def init(key, observation, num_actions):
        keys = jax.random.split(key, 3)
        return SmallEquinox(
            eqx.nn.Linear(observation.size, WIDTH, key=keys[0]),
            eqx.nn.Linear(WIDTH, 1, key=keys[1]),
            eqx.nn.Linear(WIDTH, num_actions, key=keys[2]),
        )

    return init, lambda params, observation: params(observation)


# --- Their names ----------------------------------------------------------------------------------

register_network("small-plain", init_plain, apply_plain)
for name, functions in (("small-flax", in_flax), ("small-equinox", in_equinox)):
    try:
        register_network(name, *functions())
    except ModuleNotFoundError as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
