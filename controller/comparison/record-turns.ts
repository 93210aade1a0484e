import { abortable } from '#base';
import type { AppKey } from '#model';

interface WaitingRecord {
  readonly proceed: () => void;
  /** The turns that its Application had while others were repaired. */
  turns: number;
}

/** Turns are a second apart: for so many seconds a record is delayed while others are repaired. */
const maxTurns = 10;

/**
 * Lets repairs go before their records. The record of a repair waits until its Application has a
 * turn in the refresh queue, which is behind the drift that was due before, and until no other
 * repair is running.
 */
export class RecordTurns {
  readonly #repairing = new Set<AppKey>();
  readonly #waiting = new Map<AppKey, WaitingRecord>();
  #isOpen = false;

  /** A repair was decided: until it waits or ends, others are recorded later. */
  begin(key: AppKey): void {
    this.#repairing.add(key);
  }

  /** The repair has ended, whatever became of it. */
  end(key: AppKey): void {
    this.hurry(key);
    this.#repaired(key);
  }

  /** A record that waits does so no longer. */
  hurry(key: AppKey): void {
    this.#waiting.get(key)?.proceed();
  }

  async wait(key: AppKey, signal: AbortSignal): Promise<void> {
    if (this.#isOpen) return;
    const turn = new Promise<void>((proceed) => void this.#waiting.set(key, { proceed, turns: 0 }));
    this.#repaired(key);
    await abortable(turn, signal).finally(() => this.#waiting.delete(key));
  }

  /** A turn of the Application. False: its record waits for the next one. */
  turn(key: AppKey): boolean {
    const record = this.#waiting.get(key);
    if (record === undefined) return true;
    record.turns += 1;
    const isLast = this.#repairing.size === 0 || record.turns >= maxTurns;
    if (isLast) record.proceed();
    return isLast;
  }

  /** From now on no record waits. */
  open(): void {
    this.#isOpen = true;
    for (const { proceed } of this.#waiting.values()) proceed();
  }

  #repaired(key: AppKey): void {
    this.#repairing.delete(key);
    if (this.#repairing.size > 0) return;
    for (const { turns, proceed } of this.#waiting.values()) if (turns > 0) proceed();
  }
}
