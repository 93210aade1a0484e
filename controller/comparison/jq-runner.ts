import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { abortable, tenantOf, parseJson, stringifyJson } from '#base';
import type { Clock } from '#base';
import type { JqAnswer, JqAnswers, JqQuestion } from '#diff';
import { FairSlots } from '#queues';

export interface JqRunnerDeps {
  readonly clock: Clock;
}

export interface JqRunnerConfig {
  /** --ignore-normalizer-jq-execution-timeout-seconds, for one program on one object. */
  readonly limitMs: number;
}

/** Objects per run of jq: a run costs about ten milliseconds regardless of its size. */
const jqBatchSize = 50;
/** Bounds on the cache of answers for later comparisons of the same objects. */
const maxKeptAnswers = 5000;
const maxKeptCharacters = 8_000_000;
/**
 * Bound on the output of one run of jq. An object that exceeds it alone gets a problem instead.
 */
const maxOutputCharacters = 4_000_000;
/** Replaces the worker now and then, to free memory that programs leak. */
const maxRunsPerWorker = 500;
/** Ends an idle worker to free its memory. */
const workerIdleMs = 60_000;
/**
 * Backoff after a timeout or a crash, doubled each time: an endless program must not occupy the
 * thread.
 */
const firstRetryMs = 300_000;
const maxRetryMs = 6 * 3_600_000;
/** Loading jq does not count towards a program's time limit. */
const workerStartMs = 10_000;

/** Runs in the worker, without access to the environment, arguments or files of the process. */
const workerSource = `
const { parentPort, workerData } = require('node:worker_threads');
const jq = require(workerData);
jq.raw('null', '.', ['-c']).then(() => parentPort.postMessage('ready'));
parentPort.on('message', async ({ filter, input }) => {
  try { parentPort.postMessage({ output: await jq.raw(input, filter, ['-c']) }); }
  catch (error) { parentPort.postMessage({ failure: String(error && error.message) }); }
});
`;

interface KeptAnswer {
  readonly answer: JqAnswer;
  /** How long the answer is valid, and until when; only an answer after a failure expires. */
  readonly forMs: number;
  readonly until: number;
}

type WorkerReply = { readonly output: string } | { readonly failure: string };

/**
 * Runs the jq programs of ignore rules that need a real jq, one at a time on a separate thread, so
 * that the event loop never blocks. A program that exceeds its time limit is terminated with its
 * thread.
 *
 * Programs can only compute: no environment (`env` is empty, as in Argo CD), no further inputs, no
 * files, no modules.
 */
export class JqRunner {
  readonly #deps: JqRunnerDeps;
  readonly #config: JqRunnerConfig;
  readonly #path = createRequire(import.meta.url).resolve('jq-wasm');
  /** One program at a time; projects take turns with each of theirs. */
  readonly #turns = new FairSlots({ slots: 1, slotsOfOne: 1 });
  readonly #kept = new Map<string, KeptAnswer>();
  /** Cached characters. */
  #weight = 0;
  #worker: { readonly thread: Worker; runs: number } | undefined;
  #idle: { cancel(): void } | undefined;

  constructor(deps: JqRunnerDeps, config: JqRunnerConfig) {
    this.#deps = deps;
    this.#config = config;
  }

  /** Answers all open questions. Throws only the abort reason. */
  async answer(answers: JqAnswers, signal: AbortSignal): Promise<void> {
    const programs = new Map<string, JqQuestion[]>();
    for (const question of answers.openQuestions()) {
      const known = this.#kept.get(question.key);
      if (known !== undefined && this.#deps.clock.monotonic() < known.until) answers.put(question.key, known.answer);
      else programs.set(question.program, [...(programs.get(question.program) ?? []), question]);
    }
    for (const [program, questions] of programs)
      for (let i = 0; i < questions.length; i += jqBatchSize) {
        const part = questions.slice(i, i + jqBatchSize);
        const found = await this.#ask(program, part, signal);
        part.forEach(({ key }, at) => this.#keep(answers, key, found[at] ?? noAnswer));
      }
  }

  /** Terminates the thread; the next question starts a new one. */
  async close(): Promise<void> {
    this.#idle?.cancel();
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.thread.terminate();
  }

  #keep(answers: JqAnswers, key: string, answer: JqAnswer): void {
    const weight = key.length + ('paths' in answer ? stringifyJson(answer.paths).length : 0);
    if (this.#kept.size >= maxKeptAnswers || this.#weight + weight > maxKeptCharacters) {
      this.#kept.clear();
      this.#weight = 0;
    }
    const isTransient = 'problem' in answer && answer.transient === true;
    const forMs = Math.min(maxRetryMs, 2 * (this.#kept.get(key)?.forMs ?? firstRetryMs / 2));
    const until = isTransient ? this.#deps.clock.monotonic() + forMs : Number.POSITIVE_INFINITY;
    this.#kept.set(key, { answer, forMs, until });
    this.#weight += weight;
    answers.put(key, answer);
  }

  async #ask(program: string, questions: readonly JqQuestion[], signal: AbortSignal): Promise<readonly JqAnswer[]> {
    const together = await this.#run(program, questions, signal);
    if (Array.isArray(together)) return together as readonly JqAnswer[];
    if (questions.length === 1) return [together as JqAnswer];
    // The batch timed out, crashed jq or has too much output: run each question on its own.
    const answers: JqAnswer[] = [];
    for (const question of questions) answers.push(...(await this.#ask(program, [question], signal)));
    return answers;
  }

  /** Returns one answer per question, or a single problem if the whole batch failed. */
  async #run(
    program: string,
    questions: readonly JqQuestion[],
    signal: AbortSignal,
  ): Promise<readonly JqAnswer[] | JqAnswer> {
    const input = questions.map((question) => stringifyJson(question.input)).join('\n');
    const job = { filter: filterOf(program), input };
    const reply = await this.#turns.run(tenantOf(signal).project, signal, () => this.#post(job, signal));
    if (reply === undefined)
      return { problem: `takes longer than ${this.#config.limitMs / 1000} s on this object`, transient: true };
    if ('failure' in reply)
      return reply.failure.includes('compile error')
        ? questions.map(() => ({ problem: 'is not a valid jq program' }))
        : noAnswer;
    if (reply.output.length > maxOutputCharacters)
      return questions.length === 1
        ? { problem: `names more than ${maxOutputCharacters} characters of paths` }
        : noAnswer;
    const lines = reply.output.split('\n').filter((line) => line !== '');
    if (lines.length !== questions.length) return noAnswer;
    // A failing program selects nothing, as in Argo CD.
    return lines.map((line) => {
      const paths = parseJson(line);
      return { paths: Array.isArray(paths) ? paths : [] };
    });
  }

  /** Returns undefined after a timeout, which also terminates the thread. */
  async #post(
    message: { readonly filter: string; readonly input: string },
    signal: AbortSignal,
  ): Promise<WorkerReply | undefined> {
    const thread = await this.#thread(signal);
    if (thread === undefined) return undefined;
    const reply = this.#next(thread, this.#config.limitMs);
    thread.postMessage(message);
    try {
      return (await abortable(reply, signal)) as WorkerReply | undefined;
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      this.#idle?.cancel();
      this.#idle = this.#deps.clock.timer(workerIdleMs, () => void this.close());
    }
  }

  async #thread(signal: AbortSignal): Promise<Worker | undefined> {
    if (this.#worker !== undefined && this.#worker.runs >= maxRunsPerWorker) await this.close();
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
      // The thread must not keep the process alive.
      thread.unref();
      this.#worker = { thread, runs: 0 };
      const ready = await abortable(this.#next(thread, workerStartMs), signal);
      if (ready === undefined) return undefined;
    }
    this.#worker.runs += 1;
    return this.#worker.thread;
  }

  /** The next message of the thread; undefined after a timeout or when the thread exits. */
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

const noAnswer: JqAnswer = { problem: 'got no answer from jq', transient: true };

/**
 * A filter that prints one line for each input: the paths that the program selects, or its error.
 * The newline ends a trailing comment of the program. As in Argo CD, the program cannot read the
 * environment or other inputs.
 */
function filterOf(program: string): string {
  return `def env: {}; def input: error("no input"); def inputs: error("no inputs"); {} as $ENV | try [path(${program}\n)] catch tostring`;
}
