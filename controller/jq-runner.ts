import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { abortable, KeyedMutex, parseJson, stringifyJson } from '#base';
import type { Clock } from '#base';
import type { JqAnswer, JqAnswers, JqQuestion } from '#diff';

export interface JqRunnerDeps {
  readonly clock: Clock;
}

export interface JqRunnerConfig {
  /** --ignore-normalizer-jq-execution-timeout-seconds: of one program on one object. */
  readonly limitMs: number;
}

/** Objects that one run of jq gets: a run costs some ten milliseconds, whatever it does. */
const batch = 50;
/** Answers are kept for the next comparison of the same objects, and not for ever. */
const maxKept = 5000;
const maxKeptText = 8_000_000;
/** What the places of one object may come to. An Application cannot use that many. */
const maxOutput = 4_000_000;
/** A worker is replaced now and then: what a program leaves in its memory goes with it. */
const runsOfWorker = 500;
/** Memory goes when nobody has asked for this time. */
const idleMs = 60_000;
/** What took too long is tried again after this time, then after twice as much, and so on: an endless program must not take the thread from others. */
const retryMs = 300_000;
const longestRetryMs = 6 * 3_600_000;
/** Loading jq is not the program's time. */
const startMs = 10_000;

/** Runs in the worker. Nothing of the process reaches it: no environment, no arguments, no files. */
const workerSource = `
const { parentPort, workerData } = require('node:worker_threads');
const jq = require(workerData);
jq.raw('null', '.', ['-c']).then(() => parentPort.postMessage('ready'));
parentPort.on('message', async ({ filter, input }) => {
  try { parentPort.postMessage({ output: await jq.raw(input, filter, ['-c']) }); }
  catch (error) { parentPort.postMessage({ failure: String(error && error.message) }); }
});
`;

interface Kept {
  readonly answer: JqAnswer;
  /** Of a passing one: how long it counts, and until when. */
  readonly forMs: number;
  readonly until: number;
}

type Reply = { readonly output: string } | { readonly failure: string };

/**
 * Runs the jq programs of ignore rules that only jq can run, on a thread of its own: whatever a program does, the event loop goes on. A program that
 * takes longer than the limit ends with its thread. One program at a time.
 *
 * A program may do nothing but compute: it has no environment (`env` is empty, as in Argo CD), no further inputs, no files and no modules.
 */
export class JqRunner {
  readonly #deps: JqRunnerDeps;
  readonly #config: JqRunnerConfig;
  readonly #path = createRequire(import.meta.url).resolve('jq-wasm');
  readonly #turn = new KeyedMutex();
  readonly #kept = new Map<string, Kept>();
  /** Characters of what is kept. */
  #weight = 0;
  #worker: { readonly thread: Worker; runs: number } | undefined;
  #idle: { cancel(): void } | undefined;

  constructor(deps: JqRunnerDeps, config: JqRunnerConfig) {
    this.#deps = deps;
    this.#config = config;
  }

  /** Answers all open questions. Throws the abort reason only. */
  async answer(answers: JqAnswers, signal: AbortSignal): Promise<void> {
    const programs = new Map<string, JqQuestion[]>();
    for (const question of answers.open()) {
      const known = this.#kept.get(question.key);
      if (known !== undefined && this.#deps.clock.monotonic() < known.until) answers.put(question.key, known.answer);
      else programs.set(question.program, [...(programs.get(question.program) ?? []), question]);
    }
    for (const [program, questions] of programs)
      for (let i = 0; i < questions.length; i += batch) {
        const part = questions.slice(i, i + batch);
        const found = await this.#turn.run('jq', signal, () => this.#ask(program, part, signal));
        part.forEach(({ key }, at) => this.#keep(answers, key, found[at] ?? silent));
      }
  }

  /** Ends the thread; another one is made when somebody asks. */
  async close(): Promise<void> {
    this.#idle?.cancel();
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.thread.terminate();
  }

  #keep(answers: JqAnswers, key: string, answer: JqAnswer): void {
    const weight = key.length + ('paths' in answer ? stringifyJson(answer.paths).length : 0);
    if (this.#kept.size >= maxKept || this.#weight + weight > maxKeptText) {
      this.#kept.clear();
      this.#weight = 0;
    }
    const isPassing = 'problem' in answer && answer.passing === true;
    const forMs = Math.min(longestRetryMs, 2 * (this.#kept.get(key)?.forMs ?? retryMs / 2));
    const until = isPassing ? this.#deps.clock.monotonic() + forMs : Number.POSITIVE_INFINITY;
    this.#kept.set(key, { answer, forMs, until });
    this.#weight += weight;
    answers.put(key, answer);
  }

  async #ask(program: string, questions: readonly JqQuestion[], signal: AbortSignal): Promise<readonly JqAnswer[]> {
    const together = await this.#run(program, questions, signal);
    if (Array.isArray(together)) return together as readonly JqAnswer[];
    if (questions.length === 1) return [together as JqAnswer];
    // One of them takes too long, or upsets jq: each for itself.
    const answers: JqAnswer[] = [];
    for (const question of questions) answers.push(...(await this.#ask(program, [question], signal)));
    return answers;
  }

  /** One answer when there is none for each. */
  async #run(
    program: string,
    questions: readonly JqQuestion[],
    signal: AbortSignal,
  ): Promise<readonly JqAnswer[] | JqAnswer> {
    const input = questions.map((question) => stringifyJson(question.input)).join('\n');
    const reply = await this.#post({ filter: filterOf(program), input }, signal);
    if (reply === undefined)
      return { problem: `takes longer than ${this.#config.limitMs / 1000} s on this object`, passing: true };
    if ('failure' in reply)
      return reply.failure.includes('compile error') ? questions.map(() => ({ problem: 'is no jq program' })) : silent;
    if (reply.output.length > maxOutput)
      return questions.length === 1 ? { problem: `names more than ${maxOutput} characters of places` } : silent;
    const lines = reply.output.split('\n').filter((line) => line !== '');
    if (lines.length !== questions.length) return silent;
    // A program that fails names nothing, as in Argo CD.
    return lines.map((line) => {
      const said = parseJson(line);
      return { paths: Array.isArray(said) ? said : [] };
    });
  }

  /** Undefined when it takes too long: the thread is ended then. */
  async #post(
    message: { readonly filter: string; readonly input: string },
    signal: AbortSignal,
  ): Promise<Reply | undefined> {
    const thread = await this.#thread(signal);
    if (thread === undefined) return undefined;
    const reply = this.#next(thread, this.#config.limitMs);
    thread.postMessage(message);
    try {
      return (await abortable(reply, signal)) as Reply | undefined;
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      this.#idle?.cancel();
      this.#idle = this.#deps.clock.timer(idleMs, () => void this.close());
    }
  }

  async #thread(signal: AbortSignal): Promise<Worker | undefined> {
    if (this.#worker !== undefined && this.#worker.runs >= runsOfWorker) await this.close();
    if (this.#worker === undefined) {
      const thread = new Worker(workerSource, {
        eval: true,
        workerData: this.#path,
        env: {},
        argv: [],
        stdout: true,
        stderr: true,
        resourceLimits: { maxOldGenerationSizeMb: 256 },
      });
      // It must not keep the process alive.
      thread.unref();
      this.#worker = { thread, runs: 0 };
      const ready = await abortable(this.#next(thread, startMs), signal);
      if (ready === undefined) return undefined;
    }
    this.#worker.runs += 1;
    return this.#worker.thread;
  }

  /** The next message of a thread; undefined when it does not come in time, or the thread ends. */
  #next(thread: Worker, limitMs: number): Promise<unknown> {
    return new Promise((resolve) => {
      const settle = (value: unknown): void => {
        timer.cancel();
        thread.off('message', settle);
        thread.off('error', end);
        thread.off('exit', end);
        resolve(value);
      };
      const end = (): void => {
        if (this.#worker?.thread === thread) this.#worker = undefined;
        void thread.terminate();
        settle(undefined);
      };
      const timer = this.#deps.clock.timer(limitMs, end);
      thread.on('message', settle);
      thread.on('error', end);
      thread.on('exit', end);
    });
  }
}

const silent: JqAnswer = { problem: 'has not been answered by jq', passing: true };

/**
 * The paths of a program, one line for each input; where it fails, the error. The line end closes a comment. What reads more than its input, or its surroundings,
 * is as in Argo CD's jq.
 */
function filterOf(program: string): string {
  return `def env: {}; def input: error("no input"); def inputs: error("no inputs"); {} as $ENV | try [path(${program}\n)] catch tostring`;
}
