"""Seaquest: a submarine shoots fish and enemy subs, and brings divers up before its air runs out.

Enemies and divers cross rows 1 to 8. A shot enemy is worth 1. Being touched by an enemy or its
bullet, running out of oxygen, or surfacing without a diver ends the game. Surfacing costs a diver,
refills the oxygen and makes the game harder; with six divers aboard it pays for the oxygen left.

Draws in a step: the first word decides whether the new enemy is a sub (1/3). Of the second, bit 31
(clear: from the left) and bits 0-2 (row) are the enemy's, bit 6 and bits 3-5 the diver's.

The state and the picture are in `seaquest_state`. Enemies stand in a ring of 32 slots in the order
they came (`seaquest_slots`). There are never more than 30, so the next slot is always free.
"""

from functools import partial
from typing import TypeVar

import jax
import jax.numpy as jnp

from qduet.core.xla import computed_once
from qduet.minatar import random_words
from qduet.minatar import seaquest_slots as slots
from qduet.minatar.bitboard import FULL_ROW, SIZE, cell
from qduet.minatar.environment import (
    ALL_ACTIONS,
    DOWN,
    FIRE,
    LEFT,
    RIGHT,
    UP,
    Environment,
    StepResult,
)
from qduet.minatar.seaquest_state import (
    CHANNELS,
    DIVER_CAPACITY,
    DIVER_INTERVAL,
    DIVER_MOVE_INTERVAL,
    ENEMY_SHOT_INTERVAL,
    FULL_OXYGEN,
    NUM_ROWS,
    SHOT_COOLDOWN,
    Bullet,
    Diver,
    Enemies,
    SeaquestState,
    reset,
    row_masks,
    row_moves_right,
    rows,
)

Thing = TypeVar("Thing", Bullet, Diver)

MINIMAL_ACTIONS = ALL_ACTIONS


def entry(moves_right: jax.Array) -> jax.Array:
    """The column in which something that moves this way enters."""
    return jnp.where(moves_right, 0, SIZE - 1)


def ahead(x: jax.Array, moves_right: jax.Array) -> jax.Array:
    """The next column in this direction."""
    return x + jnp.where(moves_right, 1, -1)


def on_grid(x: jax.Array) -> jax.Array:
    """Whether the column is on the grid."""
    return (x >= 0) & (x < SIZE)


def enemies_at(enemies: Enemies, x: jax.Array, y: jax.Array) -> slots.Set:
    """The enemies in cell (y, x)."""
    return enemies.alive & slots.equal(enemies.x, x) & slots.equal(enemies.y, y)


def spawn_enemy(state: SeaquestState, draws: jax.Array) -> SeaquestState:
    """When due, a fish or sub enters a row, unless one there moves the other way."""
    enemies = state.enemies
    due = state.spawn_timer == 0
    is_sub = random_words.happens(draws[0], 1 / 3)
    moves_right = random_words.happens(draws[1], 1 / 2)
    y = 1 + random_words.bits(draws[1], 0, 3)

    in_row = enemies.alive & slots.equal(enemies.y, y)
    opposed = in_row & (enemies.moves_right ^ slots.everywhere_if(moves_right))
    spawns = due & slots.is_empty(opposed)
    new = slots.slot(enemies.next_slot) & slots.everywhere_if(spawns)
    return state._replace(
        enemies=Enemies(
            next_slot=(enemies.next_slot + spawns) % slots.NUM_SLOTS,
            alive=computed_once(enemies.alive | new),
            subs=slots.put(enemies.subs, new, is_sub),
            moves_right=slots.put(enemies.moves_right, new, moves_right),
            x=slots.assign(enemies.x, new, entry(moves_right)),
            y=slots.assign(enemies.y, new, y),
            move_timer=slots.assign(enemies.move_timer, new, state.move_speed),
            shot_timer=slots.assign(enemies.shot_timer, new, ENEMY_SHOT_INTERVAL),
        ),
        spawn_timer=jnp.where(due, state.spawn_speed, state.spawn_timer),
    )


def spawn_diver(state: SeaquestState, draws: jax.Array) -> SeaquestState:
    """When due, a diver enters a row."""
    due = state.diver_timer == 0
    moves_right = random_words.bits(draws[1], 6, 1) == 0
    y = 1 + random_words.bits(draws[1], 3, 3)
    new = Diver(jnp.bool_(True), entry(moves_right), y, moves_right, jnp.int32(DIVER_MOVE_INTERVAL))
    # Divers leave before the second next one comes, so the older one is gone by now.
    return state._replace(
        older_diver=choose(due, state.newer_diver, state.older_diver),
        newer_diver=choose(due, new, state.newer_diver),
        diver_timer=jnp.where(due, DIVER_INTERVAL, state.diver_timer),
    )


def choose(condition: jax.Array, new: Thing, old: Thing) -> Thing:
    """`new` if the condition holds, else `old`, field by field."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)


def act(state: SeaquestState, action: jax.Array) -> SeaquestState:
    """Fire if the gun is ready, or move; moving sideways turns the submarine."""
    fires = (action == FIRE) & (state.shot_timer == 0)
    shot = Bullet(jnp.bool_(True), state.sub_x, state.sub_y, state.faces_right)
    x = jnp.clip(state.sub_x + (action == RIGHT) - (action == LEFT), 0, SIZE - 1)
    y = jnp.clip(state.sub_y + (action == DOWN) - (action == UP), 0, SIZE - 2)
    # A bullet is gone before the second next one is fired, so the older one is free.
    return state._replace(
        sub_x=x,
        sub_y=y,
        faces_right=(state.faces_right | (action == RIGHT)) & (action != LEFT),
        older_bullet=choose(fires, state.newer_bullet, state.older_bullet),
        newer_bullet=choose(fires, shot, state.newer_bullet),
        shot_timer=jnp.where(fires, SHOT_COOLDOWN, state.shot_timer),
    )


def fly_bullet(bullet: Bullet, enemies: Enemies) -> tuple[Bullet, Enemies, jax.Array]:
    """A bullet moves and kills the oldest fish in its new cell, else the oldest sub."""
    x = ahead(bullet.x, bullet.moves_right)
    alive = bullet.alive & on_grid(x)
    in_cell = enemies_at(enemies, x, bullet.y) & slots.everywhere_if(alive)
    fish = in_cell & ~enemies.subs
    candidates = jnp.where(slots.is_empty(fish), in_cell, fish)
    killed = slots.first_from(candidates, enemies.next_slot)
    hit = ~slots.is_empty(killed)
    bullet = bullet._replace(alive=alive & ~hit, x=x)
    return bullet, enemies._replace(alive=enemies.alive & ~killed), hit


def fly_bullets(state: SeaquestState) -> tuple[SeaquestState, jax.Array]:
    """The player's bullets, the newer first; and how many hit."""
    newer, enemies, newer_hit = fly_bullet(state.newer_bullet, state.enemies)
    older, enemies, older_hit = fly_bullet(state.older_bullet, enemies)
    enemies = enemies._replace(alive=computed_once(enemies.alive))
    state = state._replace(newer_bullet=newer, older_bullet=older, enemies=enemies)
    return state, newer_hit.astype(jnp.int32) + older_hit


def swim_diver(state: SeaquestState, diver: Diver) -> tuple[Diver, jax.Array]:
    """A diver is picked up if there is room, before or after its move; the diver and the count."""
    has_room = state.diver_count < DIVER_CAPACITY
    in_row = diver.alive & (diver.y == state.sub_y)
    taken_before = in_row & (diver.x == state.sub_x) & has_room
    moves = ~taken_before & (diver.timer == 0)
    x = jnp.where(moves, ahead(diver.x, diver.moves_right), diver.x)
    taken = taken_before | (moves & in_row & (x == state.sub_x) & has_room)
    after = diver._replace(
        alive=diver.alive & ~taken & on_grid(x),
        x=x,
        timer=jnp.where(moves, DIVER_MOVE_INTERVAL, diver.timer - 1),
    )
    return after, state.diver_count + taken


def swim_divers(state: SeaquestState) -> SeaquestState:
    """The divers, the newer first: it gets the last place aboard."""
    newer, count = swim_diver(state, state.newer_diver)
    state = state._replace(newer_diver=newer, diver_count=count)
    older, count = swim_diver(state, state.older_diver)
    return state._replace(older_diver=older, diver_count=count)


def swim_enemies(state: SeaquestState) -> tuple[SeaquestState, jax.Array, jax.Array]:
    """Enemies due move, may leave, touch the player or run into a bullet; kills and a touch.

    No two enemies enter one cell in one step, so all of them move at once.
    """
    enemies = state.enemies
    touching = enemies_at(enemies, state.sub_x, state.sub_y)
    moving = enemies.alive & slots.equal(enemies.move_timer, 0)
    waiting = enemies.alive & ~moving
    x = slots.increment(enemies.x, moving & enemies.moves_right)
    x = slots.decrement(x, moving & ~enemies.moves_right)
    left = moving & (slots.equal(x, SIZE) | slots.equal(x, -1))
    timer = slots.assign(slots.decrement(enemies.move_timer, waiting), moving, state.move_speed)
    enemies = enemies._replace(x=x, move_timer=timer, alive=enemies.alive & ~left)

    touching_after = moving & enemies_at(enemies, state.sub_x, state.sub_y)
    exposed = moving & ~touching_after
    older, newer = state.older_bullet, state.newer_bullet
    by_older = exposed & bullet_victims(enemies, older)
    by_newer = exposed & bullet_victims(enemies, newer) & ~by_older
    hit_older, hit_newer = ~slots.is_empty(by_older), ~slots.is_empty(by_newer)
    state = state._replace(
        enemies=enemies._replace(alive=enemies.alive & ~by_older & ~by_newer),
        older_bullet=older._replace(alive=older.alive & ~hit_older),
        newer_bullet=newer._replace(alive=newer.alive & ~hit_newer),
    )
    kills = hit_older.astype(jnp.int32) + hit_newer
    return state, kills, ~slots.is_empty(touching | touching_after)


def bullet_victims(enemies: Enemies, bullet: Bullet) -> slots.Set:
    """The enemies in the bullet's cell."""
    return enemies_at(enemies, bullet.x, bullet.y) & slots.everywhere_if(bullet.alive)


def fire_enemies(state: SeaquestState, subs: slots.Set) -> SeaquestState:
    """Subs due fire from where they are; `subs` are those alive before they moved.

    A sub that has just left or been shot still fires.
    """
    enemies = state.enemies
    firing = subs & slots.equal(enemies.shot_timer, 0)
    timer = slots.decrement(enemies.shot_timer, subs & ~firing)
    shots = row_masks(enemies, firing)
    to_right = row_moves_right(enemies, firing)
    nothing = jnp.zeros_like(shots)
    return state._replace(
        enemies=enemies._replace(shot_timer=slots.assign(timer, firing, ENEMY_SHOT_INTERVAL)),
        bullets_right=state.bullets_right | jnp.where(to_right, shots, nothing),
        bullets_left=state.bullets_left | jnp.where(to_right, nothing, shots),
    )


def fly_enemy_bullets(state: SeaquestState) -> tuple[SeaquestState, jax.Array]:
    """Enemy bullets move and leave at the edges; and whether one was or came on the player."""
    in_row = jnp.arange(1, NUM_ROWS + 1) == state.sub_y
    player = jnp.where(in_row, cell(state.sub_x), jnp.uint32(0))
    right = (state.bullets_right << 1) & FULL_ROW
    left = state.bullets_left >> 1
    passed = state.bullets_right | state.bullets_left | right | left
    return state._replace(bullets_right=right, bullets_left=left), jnp.any(passed & player != 0)


def run_timers(state: SeaquestState) -> SeaquestState:
    """The timers of one step."""
    return state._replace(
        spawn_timer=jnp.maximum(state.spawn_timer - 1, 0),
        diver_timer=jnp.maximum(state.diver_timer - 1, 0),
        shot_timer=jnp.maximum(state.shot_timer - 1, 0),
    )


def breathe(
    state: SeaquestState, difficulty_ramping: bool
) -> tuple[SeaquestState, jax.Array, jax.Array]:
    """Under water oxygen falls; surfacing takes a diver (none: the game ends) and refills it.

    Surfacing with six pays a point for each twentieth of the oxygen. It empties the boat *and*
    takes a diver, so that -1 are aboard; only a count of exactly 0 ends the game.
    """
    suffocated = state.oxygen <= 0
    under = state.sub_y > 0
    surfaces = ~under & ~state.at_surface
    stranded = surfaces & (state.diver_count == 0)
    surfaced = surfaces & ~stranded
    is_full = surfaced & (state.diver_count == DIVER_CAPACITY)
    bonus = jnp.where(is_full, state.oxygen * 10 // FULL_OXYGEN, 0)
    count = jnp.where(is_full, 0, state.diver_count) - surfaced
    state = state._replace(
        oxygen=jnp.where(surfaced, FULL_OXYGEN, state.oxygen - under),
        diver_count=count,
        at_surface=~under & (state.at_surface | surfaced),
    )
    if difficulty_ramping:
        state = ramp(state, surfaced)
    return state, bonus, suffocated | stranded


def ramp(state: SeaquestState, surfaced: jax.Array) -> SeaquestState:
    """Each surfacing makes enemies more frequent, and every second one makes them faster."""
    ramps = surfaced & ((state.spawn_speed > 1) | (state.move_speed > 2))
    faster = ramps & (state.move_speed > 2) & (state.ramp_index % 2 == 1)
    return state._replace(
        move_speed=state.move_speed - faster,
        spawn_speed=state.spawn_speed - (ramps & (state.spawn_speed > 1)),
        ramp_index=state.ramp_index + ramps,
    )


def step(
    state: SeaquestState, action: jax.Array, draws: jax.Array, *, difficulty_ramping: bool
) -> StepResult:
    """One frame."""
    state = act(spawn_diver(spawn_enemy(state, draws), draws), action)
    state, shot = fly_bullets(state)
    state = swim_divers(state)
    subs = state.enemies.alive & state.enemies.subs
    state, met, touched = swim_enemies(state)
    state, hit = fly_enemy_bullets(fire_enemies(state, subs))
    state, bonus, drowned = breathe(run_timers(state), difficulty_ramping)
    reward = (shot + met + bonus).astype(jnp.float32)
    return StepResult(state, reward, touched | hit | drowned)


def game(*, difficulty_ramping: bool = True) -> Environment:
    """The game alone."""
    ramped_step = partial(step, difficulty_ramping=difficulty_ramping)
    return Environment(
        "Seaquest", CHANNELS, ALL_ACTIONS, 2, reset, ramped_step, rows, small_rewards=True
    )
