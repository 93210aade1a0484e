import { DriftlessError, yieldToLoop } from '#base';
import type { Clock, RandomSource, SlicedWork } from '#base';
import type { AppKey } from '#model';
import { RecordingEncoder } from './encode.ts';
import type { PartHeader } from './encode.ts';
import type { PassLog, PassSubscription } from './pass-log.ts';

/** A request for the next lines of a recording. */
export interface RecordingRequest {
  readonly key: AppKey;
  /** Chosen by the reader: names the recording in later requests. */
  readonly recording: string;
  /** Only the last passes, which are kept, and no later ones. */
  readonly isLast: boolean;
  /** `next` of the answer before; '': the first request. */
  readonly after: string;
}

/** The answering replica, for the header of a part. */
export type Recorder = Pick<PartHeader, 'version' | 'replica'>;

/** Lines of a recording, in order. */
export interface RecordingPiece {
  readonly lines: readonly string[];
  /** Confirms these lines: give it as `after` of the next request. */
  readonly next: string;
  /** Why no more lines follow; absent: more may. */
  readonly end?: string;
}

/** Too many recordings run at once. */
export class RecordingRefused extends DriftlessError {
  constructor(message: string) {
    super('RECORDING_REFUSED', message, { retry: { afterMs: recordingLimits.idleMs } });
  }
}

export const recordingLimits = {
  /** Recordings at once on one replica. */
  recordings: 2,
  /** A recording that nobody reads for this long ends. */
  idleMs: 15_000,
  totalMs: 3_600_000,
  totalCharacters: 256 * 1024 * 1024,
  /** Lines of one answer; one line may be longer. */
  pieceCharacters: 4 * 1024 * 1024,
  /** Work for one answer: peers wait two seconds. */
  pieceMs: 500,
  /** Blocks the event loop at most this long. */
  sliceMs: 10,
} as const;

/** Passes to be written. */
interface PassSource extends Pick<PassSubscription, 'take' | 'takeDropped' | 'close'> {
  readonly isLast: boolean;
}

interface RunningRecording {
  readonly key: AppKey;
  /** Distinguishes this run from one of another replica with the same name. */
  readonly run: string;
  readonly encoder: RecordingEncoder;
  readonly passes: PassSource;
  readonly startedAt: number;
  /** Encoded lines that no answer had room for. */
  readonly backlog: string[];
  /** A pass that is being encoded. */
  encoding: SlicedWork<readonly string[]> | undefined;
  readAt: number;
  pieces: number;
  characters: number;
  /** The last answer, until its lines are confirmed. */
  unconfirmed: RecordingPiece | undefined;
  turn: Promise<unknown>;
}

export interface RecordingsDeps {
  readonly log: PassLog;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly random: Pick<RandomSource, 'uuid'>;
  readonly config: PartHeader['config'];
}

/** The recordings that this replica makes now. Without any, a pass costs nothing more. */
export class Recordings {
  readonly #deps: RecordingsDeps;
  readonly #running = new Map<string, RunningRecording>();

  constructor(deps: RecordingsDeps) {
    this.#deps = deps;
  }

  /** @throws RecordingRefused */
  async read({ key, recording, isLast, after }: RecordingRequest, by: Recorder): Promise<RecordingPiece> {
    this.#endIdle();
    const running = this.#running.get(recording) ?? this.#begin(recording, { key, isLast }, by);
    if (running.key !== key) throw new RecordingRefused('this name is used by a recording of another Application');
    running.readAt = this.#deps.clock.monotonic();
    const piece = running.turn.then(() => this.#next(running, after));
    running.turn = piece.catch(() => undefined);
    const answer = await piece;
    running.readAt = this.#deps.clock.monotonic();
    return answer;
  }

  #begin(name: string, { key, isLast }: Pick<RecordingRequest, 'key' | 'isLast'>, by: Recorder): RunningRecording {
    const { log, clock, random, config } = this.#deps;
    const { recordings } = recordingLimits;
    if (this.#running.size >= recordings)
      throw new RecordingRefused(`${recordings} recordings run on this replica already: wait until one ends`);
    const startedAt = clock.monotonic();
    // The key of the masks lives as long as the recording, and is written nowhere.
    const maskKey = random.uuid() + random.uuid();
    const encoder = new RecordingEncoder({ ...by, application: key, config }, maskKey);
    const running: RunningRecording = {
      key,
      run: random.uuid(),
      encoder,
      passes: isLast ? lastPasses(log, key) : { ...log.subscribe(key), isLast },
      startedAt,
      backlog: [encoder.header(clock.now())],
      encoding: undefined,
      readAt: startedAt,
      pieces: 0,
      characters: 0,
      unconfirmed: undefined,
      turn: Promise.resolve(),
    };
    this.#running.set(name, running);
    return running;
  }

  async #next(running: RunningRecording, after: string): Promise<RecordingPiece> {
    const { unconfirmed } = running;
    if (unconfirmed !== undefined && (after !== unconfirmed.next || unconfirmed.end !== undefined)) return unconfirmed;
    await this.#encode(running);
    const lines = takeLines(running.backlog, recordingLimits.pieceCharacters);
    running.characters += lines.reduce((sum, line) => sum + line.length, 0);
    running.pieces += 1;
    const end = this.#endOf(running);
    const piece = { lines, next: `${running.run}.${running.pieces}`, ...(end === undefined ? {} : { end }) };
    running.unconfirmed = piece;
    // The last answer stays for a reader that did not get it, until the recording is idle.
    if (end !== undefined) running.passes.close();
    return piece;
  }

  /** Encodes passes until there is enough for an answer, in slices. A pass may take several. */
  async #encode(running: RunningRecording): Promise<void> {
    const { clock } = this.#deps;
    const { pieceMs, pieceCharacters, sliceMs } = recordingLimits;
    const { backlog, passes, encoder } = running;
    const until = clock.monotonic() + pieceMs;
    let sliceEnd = clock.monotonic() + sliceMs;
    let characters = backlog.reduce((sum, line) => sum + line.length, 0);
    while (characters < pieceCharacters && clock.monotonic() < until) {
      if (running.encoding === undefined) {
        const capture = passes.take();
        if (capture === undefined) break;
        running.encoding = encoder.encode(capture, clock.now());
      }
      const step = running.encoding.next();
      if (step.done === true) {
        running.encoding = undefined;
        for (const line of step.value) {
          backlog.push(line);
          characters += line.length;
        }
      }
      if (clock.monotonic() < sliceEnd) continue;
      await yieldToLoop();
      sliceEnd = clock.monotonic() + sliceMs;
    }
    const dropped = passes.takeDropped();
    if (dropped > 0) backlog.push(encoder.gap(`${dropped} passes are missing: they came faster than they were read`));
  }

  #endOf({ startedAt, characters, passes, backlog, encoding }: RunningRecording): string | undefined {
    const { totalMs, totalCharacters } = recordingLimits;
    if (passes.isLast && backlog.length === 0 && encoding === undefined) return 'these are the last passes';
    if (characters > totalCharacters) return `the recording is longer than ${totalCharacters / 1024 / 1024} MB`;
    return this.#deps.clock.monotonic() - startedAt > totalMs
      ? `it has run for ${totalMs / 60_000} minutes`
      : undefined;
  }

  #endIdle(): void {
    const now = this.#deps.clock.monotonic();
    for (const [name, { readAt, passes }] of this.#running) {
      if (now - readAt <= recordingLimits.idleMs) continue;
      passes.close();
      this.#running.delete(name);
    }
  }
}

function lastPasses(log: PassLog, key: AppKey): PassSource {
  const passes = [...log.lastOf(key)];
  return { isLast: true, take: () => passes.shift(), takeDropped: () => 0, close: () => undefined };
}

/** Removes and returns the first lines, at least one. */
function takeLines(backlog: string[], maxCharacters: number): readonly string[] {
  let [count, characters] = [0, 0];
  for (const line of backlog) {
    characters += line.length;
    if (count > 0 && characters > maxCharacters) break;
    count += 1;
  }
  return backlog.splice(0, count);
}
