import type { StartSchedule } from './scheduled-starts.ts';
import { Turns } from './turns.ts';

/** The parameters of the schedule. All times are monotonic milliseconds. */
export interface InputRules {
  /** Bytes of all inputs in memory together. */
  readonly totalBytes: number;
  /** An input that waited longer gets a claim: later inputs leave its bytes free. */
  readonly claimAfterMs: number;
}

interface InputEntry {
  readonly id: number;
  readonly project: string;
  readonly bytes: number;
  readonly since: number;
}

interface HeldInput {
  readonly project: string;
  readonly bytes: number;
  /** It started while the current claim waited. */
  isAfterClaim: boolean;
}

/**
 * Assigns memory for inputs to projects. A project may hold as much as stays free, so the first one
 * gets half, two get a third each, and some is always free for the next one. The project that holds
 * least goes first; among equals, the one that waited longest for its turn. Inside a project, first
 * in, first out. A pure decision: the caller passes the time.
 */
export class InputShares implements StartSchedule {
  readonly #rules: InputRules;
  readonly #waiting: InputEntry[] = [];
  readonly #held = new Map<number, HeldInput>();
  readonly #turns = new Turns();
  #claim: InputEntry | undefined;
  #lastId = 0;

  constructor(rules: InputRules) {
    this.#rules = rules;
  }

  /** A bigger input would never start. */
  get maxInputBytes(): number {
    return Math.floor(this.#rules.totalBytes / 2);
  }

  get heldBytes(): number {
    return sumOf(this.#held.values());
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  heldBy(project: string): number {
    return sumOf([...this.#held.values()].filter((held) => held.project === project));
  }

  /** Queues an input of at most `maxInputBytes`, and returns its ID. */
  add(project: string, bytes: number, now: number): number {
    this.#lastId += 1;
    this.#waiting.push({ id: this.#lastId, project, bytes, since: now });
    return this.#lastId;
  }

  /** Removes an input from the queue. */
  drop(id: number): void {
    const at = this.#waiting.findIndex((entry) => entry.id === id);
    if (at >= 0) this.#waiting.splice(at, 1);
    if (this.#claim?.id === id) this.#endClaim();
  }

  /** The input that starts now; undefined if none may start. */
  next(now: number): number | undefined {
    this.#updateClaim(now);
    const allowed = this.#heads().filter((entry) => this.#mayStart(entry));
    const [first, ...others] = allowed;
    if (first === undefined) return undefined;
    const { id, project, bytes } = others.reduce((a, b) => (this.#comesBefore(b, a) ? b : a), first);
    this.drop(id);
    this.#held.set(id, { project, bytes, isAfterClaim: this.#claim !== undefined });
    this.#turns.take([project], () => this.#activeProjects());
    return id;
  }

  /** Frees the bytes of an input. */
  end(id: number): void {
    this.#held.delete(id);
  }

  /** When an input gets a claim, which may start it. Undefined if none waits for that. */
  nextChangeAt(now: number): number | undefined {
    if (this.#claim !== undefined) return undefined;
    const times = this.#heads().map(({ since }) => since + this.#rules.claimAfterMs);
    const coming = times.filter((time) => time > now);
    return coming.length === 0 ? undefined : Math.min(...coming);
  }

  /** The first waiting input of each project. */
  #heads(): readonly InputEntry[] {
    const heads = new Map<string, InputEntry>();
    for (const entry of this.#waiting) if (!heads.has(entry.project)) heads.set(entry.project, entry);
    return [...heads.values()];
  }

  #mayStart(entry: InputEntry): boolean {
    const { project, bytes } = entry;
    const held = this.heldBytes;
    if (this.#claim?.id === entry.id) return held + bytes <= this.#claimableBytes;
    const free = this.#rules.totalBytes - held - bytes;
    return this.heldBy(project) + bytes <= free && this.#leavesClaim(bytes);
  }

  /** Inputs that started after the claim must leave its bytes free, so that it starts at last. */
  #leavesClaim(bytes: number): boolean {
    if (this.#claim === undefined) return true;
    const after = sumOf([...this.#held.values()].filter(({ isAfterClaim }) => isAfterClaim));
    return after + bytes + this.#claim.bytes <= this.#claimableBytes;
  }

  /** Claims leave an eighth to small inputs. */
  get #claimableBytes(): number {
    const { totalBytes } = this.#rules;
    return totalBytes - Math.floor(totalBytes / 8);
  }

  /** Only a project that holds nothing gets a claim: the others proceed as their inputs end. */
  #updateClaim(now: number): void {
    if (this.#claim !== undefined) return;
    this.#claim = this.#heads().find(
      ({ project, since }) => now - since >= this.#rules.claimAfterMs && this.heldBy(project) === 0,
    );
  }

  #endClaim(): void {
    this.#claim = undefined;
    for (const held of this.#held.values()) held.isAfterClaim = false;
  }

  #comesBefore(a: InputEntry, b: InputEntry): boolean {
    const held = this.heldBy(a.project) - this.heldBy(b.project);
    const turns = this.#turns.of(a.project) - this.#turns.of(b.project);
    return (held || turns || a.id - b.id) < 0;
  }

  #activeProjects(): readonly string[] {
    return [...this.#waiting, ...this.#held.values()].map(({ project }) => project);
  }
}

function sumOf(all: Iterable<{ readonly bytes: number }>): number {
  let sum = 0;
  for (const { bytes } of all) sum += bytes;
  return sum;
}
