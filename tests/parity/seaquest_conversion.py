"""Our states of Seaquest as views and back."""

# States are annotated with JAX arrays; here they hold NumPy ones.
# mypy: disable-error-code="arg-type"

from typing import Any

import numpy as np

from parity.views import MAX_ENEMIES, NOTHING, SeaquestView
from qduet.minatar.seaquest_state import Bullet, Diver, Enemies, SeaquestState

SAME_NUMBERS = {
    "oxygen": "oxygen",
    "diver_count": "diver_count",
    "sub_x": "sub_x",
    "sub_y": "sub_y",
    "spawn_speed": "e_spawn_speed",
    "spawn_timer": "e_spawn_timer",
    "diver_timer": "d_spawn_timer",
    "move_speed": "move_speed",
    "ramp_index": "ramp_index",
    "shot_timer": "shot_timer",
}
"""Our names of the numbers, and the original's."""

SLOT_BITS = np.arange(MAX_ENEMIES, dtype=np.uint32)


def seaquest_state(view: SeaquestView) -> SeaquestState:
    """The state that a view shows."""
    numbers = {
        ours: np.asarray(getattr(view, theirs), np.int32) for ours, theirs in SAME_NUMBERS.items()
    }
    older_bullet, newer_bullet = two_things(Bullet, view.f_bullets)
    older_diver, newer_diver = two_things(Diver, view.divers)
    bullets = (view.e_bullets[:, :, 1:9].astype(np.uint32) << SLOT_BITS[:10]).sum(-1)
    return SeaquestState(
        **numbers,
        faces_right=view.sub_or == 1,
        at_surface=view.surface == 1,
        older_bullet=older_bullet,
        newer_bullet=newer_bullet,
        older_diver=older_diver,
        newer_diver=newer_diver,
        enemies=seaquest_enemies(view),
        bullets_left=bullets[:, 0].astype(np.uint32),
        bullets_right=bullets[:, 1].astype(np.uint32),
    )


def two_things(kind: type, entries: np.ndarray) -> tuple[Any, Any]:
    """The entries of a list as the older and the newer one; a single one is the newer."""
    alone = (entries[:, 1, 0] == NOTHING)[:, None]
    older = np.where(alone, NOTHING, entries[:, 0])
    newer = np.where(alone, entries[:, 0], entries[:, 1])
    return tuple(
        kind(
            one[:, 0] != NOTHING,
            one[:, 0].astype(np.int32),
            one[:, 1].astype(np.int32),
            one[:, 2] == 1,
            *(one[:, i].astype(np.int32) for i in range(3, one.shape[1])),
        )
        for one in (older, newer)
    )


def seaquest_enemies(view: SeaquestView) -> Enemies:
    """Fish, then subs, in slots that start somewhere in the ring (it must not matter where)."""
    fish = np.pad(view.e_fish, ((0, 0), (0, 0), (0, 1)))
    both = np.concatenate([fish, view.e_subs], axis=1)
    is_sub = np.arange(both.shape[1]) >= fish.shape[1]
    present = both[:, :, 0] != NOTHING
    order = np.argsort(~present, axis=1, kind="stable")[:, :MAX_ENEMIES]
    count = present.sum(1)
    start = (np.arange(len(both)) * 7) % MAX_ENEMIES

    slot = np.arange(MAX_ENEMIES)
    place = np.take_along_axis(order, (slot - start[:, None]) % MAX_ENEMIES, axis=1)
    entries = np.take_along_axis(both, place[:, :, None], axis=1)
    alive = np.take_along_axis(present, place, axis=1)
    as_set = lambda members: ((members & alive).astype(np.uint32) << SLOT_BITS).sum(
        1, dtype=np.uint32
    )
    planes = lambda values, bits: tuple(as_set((values >> j) & 1 == 1) for j in range(bits))
    return Enemies(
        next_slot=((start + count) % MAX_ENEMIES).astype(np.int32),
        alive=as_set(alive),
        subs=as_set(is_sub[place]),
        moves_right=as_set(entries[:, :, 2] == 1),
        x=planes(entries[:, :, 0], 4),
        y=planes(entries[:, :, 1], 4),
        move_timer=planes(entries[:, :, 3], 3),
        shot_timer=planes(entries[:, :, 4], 4),
    )


def seaquest_view(state: SeaquestState) -> SeaquestView:
    """What a state shows."""
    numbers = {theirs: getattr(state, ours) for ours, theirs in SAME_NUMBERS.items()}
    fish, subs = seaquest_lists(state.enemies)
    bullets = np.stack([state.bullets_left, state.bullets_right], 1)
    e_bullets = (bullets[..., None] >> SLOT_BITS[:10]) & 1
    return SeaquestView(
        **numbers,
        sub_or=state.faces_right,
        surface=state.at_surface,
        f_bullets=thing_list(state.older_bullet, state.newer_bullet),
        divers=thing_list(state.older_diver, state.newer_diver),
        e_fish=fish,
        e_subs=subs,
        e_bullets=np.pad(e_bullets, ((0, 0), (0, 0), (1, 1), (0, 0))),
    )


def thing_list(older: Any, newer: Any) -> np.ndarray:
    """The older and the newer one as a list, oldest first."""
    entries = np.stack([np.stack(one[1:], -1) for one in (older, newer)], 1).astype(np.int16)
    return front(entries, np.stack([older.alive, newer.alive], 1))


def front(entries: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Present entries [n, k, fields] moved to the front in their order, the rest `NOTHING`."""
    order = np.argsort(~present, axis=1, kind="stable")
    filled = np.where(present[:, :, None], entries, NOTHING)
    return np.take_along_axis(filled, order[:, :, None], axis=1)


def seaquest_lists(enemies: Enemies) -> tuple[np.ndarray, np.ndarray]:
    """Fish and subs as lists, oldest first."""
    slot = np.arange(MAX_ENEMIES)
    by_age = (slot + np.asarray(enemies.next_slot)[:, None]) % MAX_ENEMIES
    members = lambda chosen: (np.asarray(chosen)[:, None] >> by_age.astype(np.uint32)) & 1 == 1
    number = lambda planes: sum(members(plane) << j for j, plane in enumerate(planes))
    fields = [
        number(enemies.x),
        number(enemies.y),
        members(enemies.moves_right),
        number(enemies.move_timer),
        number(enemies.shot_timer),
    ]
    entries = np.stack(fields, -1).astype(np.int16)
    alive, subs = members(enemies.alive), members(enemies.subs)
    return front(entries[:, :, :4], alive & ~subs), front(entries, alive & subs)
