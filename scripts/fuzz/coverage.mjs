// Coverage of one input by V8's inspector: blocks that ran for the first time, or far more often
// than before.
import { Session } from 'node:inspector';

/** Highest power of two that counts of a block are told apart by: more rounds teach nothing. */
const maxBucket = 6;

export class Coverage {
  #session = new Session();
  #isOurs;
  /**
   * Per function: a byte for each character that ever ran. One map for the script would not do: V8
   * leaves out inner functions that did not run, so their text counts as that of the outer one.
   */
  #ran = new Map();
  #buckets = new Map();
  /** Characters of functions that ever ran. */
  covered = 0;

  /** @param isOurs whether the script of a URL counts. */
  constructor(isOurs) {
    this.#isOurs = isOurs;
    this.#session.connect();
    this.#post('Profiler.enable');
    this.#post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** Forgets what ran since the last call. */
  reset() {
    this.#take();
  }

  /** Whether something ran for the first time since the last call; with `learn`, remembers it. */
  isNew({ learn, counts }) {
    let found = false;
    for (const { scriptId, url, functions } of this.#take()) {
      if (!this.#isOurs(url)) continue;
      for (const { ranges } of functions) {
        const [{ startOffset, endOffset }] = ranges;
        const id = `${scriptId} ${startOffset} ${endOffset}`;
        const ran = segmentsOf(ranges).filter(({ count }) => count > 0);
        for (const { from, to, count } of ran) {
          const isFirst = this.#marks(id, endOffset - startOffset, {
            from: from - startOffset,
            to: to - startOffset,
            learn,
          });
          const isMore = counts && this.#rises(`${id} ${from}`, count, learn);
          found ||= isFirst || isMore;
        }
      }
    }
    return found;
  }

  #marks(id, length, { from, to, learn }) {
    const ran = this.#ran.get(id) ?? new Uint8Array(length);
    const before = ran.subarray(from, to).reduce((sum, one) => sum + one, 0);
    if (!learn || before === to - from) return before < to - from;
    this.#ran.set(id, ran.fill(1, from, to));
    this.covered += to - from - before;
    return true;
  }

  #rises(key, count, learn) {
    const bucket = Math.min(maxBucket, Math.floor(Math.log2(count)));
    if ((this.#buckets.get(key) ?? 0) >= bucket) return false;
    if (learn) this.#buckets.set(key, bucket);
    return true;
  }

  #take() {
    return this.#post('Profiler.takePreciseCoverage').result;
  }

  /** The inspector of the own thread answers before `post` returns. */
  #post(method, params) {
    let answer;
    this.#session.post(method, params, (error, result) => {
      if (error !== null) throw new Error(`${method}: ${error.message}`);
      answer = result;
    });
    return answer;
  }
}

/** Nested ranges, the outer ones first, as segments that follow each other. */
export function segmentsOf(ranges) {
  const segments = [];
  const open = [];
  let at = ranges[0]?.startOffset ?? 0;
  const upTo = (end) => {
    const { count = 0 } = open.at(-1) ?? {};
    if (end > at) segments.push({ from: at, to: end, count });
    at = Math.max(at, end);
  };
  for (const range of ranges) {
    while (open.length > 0 && open.at(-1).endOffset <= range.startOffset) {
      upTo(open.at(-1).endOffset);
      open.pop();
    }
    upTo(range.startOffset);
    open.push(range);
  }
  for (; open.length > 0; open.pop()) upTo(open.at(-1).endOffset);
  return segments;
}
