/**
 * Bounds of the numbers in the two ConfigMaps of the hub, which people can edit. A number beyond
 * its bound counts as unreadable, and the next write of its owner corrects it.
 */

/** Upper bound of slots, shards and replicas: their records must fit into one ConfigMap. */
export const maxSlots = 2000;

/** Upper bound of a rate in events per second: sums of rates must stay finite. */
const maxEventRate = 1e6;

/**
 * Epochs are numbers on a circle of this size, compared as in RFC 1982, so that every epoch has a
 * successor, also one that was written by hand. 0 means none.
 */
const epochCircle = 1e15;
/** Epochs this far apart, in both directions, are not comparable: neither is newer. */
const epochReach = 0.4 * epochCircle;

/**
 * Epochs are multiples of a thousand plus the planner's random nonce. A table built on a restored
 * backup thus almost never reuses the epoch of a lost table that a replica may still acknowledge.
 */
const epochStep = 1000;

/**
 * Steps to the epoch of a rebuilt table. More than could have been published since the last
 * acknowledgment, so that no lost epoch is repeated.
 */
const rebuildSteps = 1000;

export function isSlot(value: unknown): value is number {
  return isWholeNumber(value) && value < maxSlots;
}

/** A number of slots or replicas. */
export function isSlotCount(value: unknown): value is number {
  return isWholeNumber(value) && value <= maxSlots;
}

export function isEpoch(value: unknown): value is number {
  return isWholeNumber(value) && value < epochCircle;
}

export function isEventRate(value: unknown): value is number {
  return typeof value === 'number' && value > 0 && value <= maxEventRate;
}

export function isWholeNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** Reports whether epoch `a` was published after `b`. */
export function isNewerEpoch(a: number, b: number): boolean {
  if (a === 0 || b === 0) return a !== 0 && b === 0;
  const ahead = (a - b + epochCircle) % epochCircle;
  return ahead > 0 && ahead < epochReach;
}

/** Reports whether a holder that acknowledged `acked` has acknowledged `epoch` or a newer one. */
export function hasReached(acked: number, epoch: number): boolean {
  return epoch === 0 || acked === epoch || isNewerEpoch(acked, epoch);
}

/** 0 if there are none. The first one, if others are not comparable with it. */
export function newestEpoch(...epochs: readonly number[]): number {
  return epochs.reduce((newest, epoch) => (isNewerEpoch(epoch, newest) ? epoch : newest), 0);
}

/** The epoch of the table that follows `before`. `nonce`: from 0 to 999. */
export function nextEpoch(before: number, nonce: number): number {
  return stepsAfter(before, 1, nonce);
}

/** The epoch of a table that replaces a lost one. `known`: the newest epoch that may be in use. */
export function epochAfterLoss(known: number, nonce: number): number {
  return stepsAfter(known, 1 + rebuildSteps, nonce);
}

/** Skips the first step of the circle, which contains 0. */
function stepsAfter(epoch: number, steps: number, nonce: number): number {
  const next = ((Math.floor(epoch / epochStep) + steps) * epochStep) % epochCircle;
  return (next === 0 ? epochStep : next) + nonce;
}
