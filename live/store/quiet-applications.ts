/** An Application without changes for this long is quiet. */
const quietMs = 1000;
/** Above this number, entries of quiet Applications are dropped. */
const maxTracked = 10_000;

/**
 * Finds the first change of an Application after a time without any: its pass begins at once, and
 * only what follows is collected. An Application that changes all the time is never quiet.
 */
export class QuietApplications {
  /** Time of the last change, the oldest first. */
  readonly #changedAt = new Map<string, number>();

  /** Records a change of Applications. Returns true if one of them was quiet until now. */
  noteChange(apps: Iterable<string>, now: number): boolean {
    let wasQuiet = false;
    for (const app of new Set(apps)) {
      const changedAt = this.#changedAt.get(app);
      if (changedAt === undefined || now - changedAt >= quietMs) wasQuiet = true;
      this.#changedAt.delete(app);
      this.#changedAt.set(app, now);
    }
    this.#drop(now);
    return wasQuiet;
  }

  /** Forgetting an Application that is not quiet costs it one batch, so the number is bounded. */
  #drop(now: number): void {
    for (const [app, changedAt] of this.#changedAt) {
      if (now - changedAt < quietMs && this.#changedAt.size <= maxTracked) return;
      this.#changedAt.delete(app);
    }
  }
}
