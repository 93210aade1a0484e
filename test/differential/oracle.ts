import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { DriftlessError, isObject, parseJson, stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';

/** The answer of Argo CD's code to a case. */
export type OracleAnswer =
  | { readonly kind: 'result'; readonly value: Json }
  | { readonly kind: 'error'; readonly text: string }
  | { readonly kind: 'panic'; readonly text: string }
  | { readonly kind: 'hang' }
  | { readonly kind: 'crash'; readonly text: string };

export type Ask = (area: string, input: Json) => Promise<OracleAnswer>;

interface Waiting {
  readonly line: string;
  readonly resolve: (answer: OracleAnswer) => void;
}

/** How much longer the first answer of a process may take. */
const freshFactor = 10;

/**
 * The original's code in a process of its own. Cases are answered in any order. If it dies or does
 * not answer in time, it is started again, and the cases in flight are asked again one at a time,
 * so that each is judged by itself.
 */
export class Oracle {
  readonly #command: readonly string[];
  readonly #limitMs: number;
  #child: ChildProcess | undefined;
  #nextId = 1;
  /** The process has not answered yet: it may still start. */
  #isFresh = true;
  #text = '';
  #errors = '';
  #timer: NodeJS.Timeout | undefined;
  readonly #waiting = new Map<number, Waiting>();
  /** Cases that were in flight when the process died. */
  #suspects: Waiting[] = [];
  restarts = 0;

  constructor(command: readonly string[], limitMs = 10_000) {
    this.#command = command;
    this.#limitMs = limitMs;
  }

  readonly ask: Ask = (area, input) => {
    const body = `"area":${JSON.stringify(area)},"input":${stringifyJson(input)}}`;
    return new Promise((resolve) => {
      const waiting = { line: body, resolve };
      if (this.#suspects.length > 0) this.#suspects.push(waiting);
      else this.#send(waiting);
    });
  };

  stop(): void {
    clearTimeout(this.#timer);
    this.#child?.removeAllListeners('close');
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }

  #send(waiting: Waiting): void {
    const id = this.#nextId;
    this.#nextId += 1;
    this.#waiting.set(id, waiting);
    this.#child ??= this.#start();
    this.#child.stdin?.write(`{"id":${id},${waiting.line}\n`);
    this.#watch();
  }

  #start(): ChildProcess {
    const [program = '', ...args] = this.#command;
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#text = '';
    this.#errors = '';
    this.#isFresh = true;
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => this.#read(chunk));
    child.stderr
      .setEncoding('utf8')
      .on('data', (chunk: string) => (this.#errors = (this.#errors + chunk).slice(-4000)));
    // A write to a process that has died; `close` follows.
    child.stdin.on('error', () => undefined);
    child.on('error', (error) => (this.#errors = error.message));
    child.on('close', () => this.#died({ kind: 'crash', text: this.#errors }));
    return child;
  }

  /** The process must answer something within the limit while cases wait. */
  #watch(): void {
    if (this.#timer !== undefined || this.#waiting.size === 0) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#child?.removeAllListeners('close');
        this.#child?.kill('SIGKILL');
        this.#died({ kind: 'hang' });
      },
      this.#limitMs * (this.#isFresh ? freshFactor : 1),
    );
  }

  #read(chunk: string): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isFresh = false;
    const lines = (this.#text + chunk).split('\n');
    this.#text = lines.pop() ?? '';
    for (const line of lines) this.#answer(line);
    this.#watch();
  }

  #answer(line: string): void {
    const parsed = parseJson(line);
    if (!isObject(parsed)) throw new DriftlessError('ORACLE', 'the oracle printed a line that is no answer');
    const id = Number(parsed['id']);
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    waiting.resolve(answerOf(parsed));
    this.#askSuspect();
  }

  #died(why: OracleAnswer): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#child = undefined;
    this.restarts += 1;
    const inFlight = [...this.#waiting.values()];
    this.#waiting.clear();
    const [first] = inFlight;
    if (inFlight.length === 1 && first !== undefined) first.resolve(why);
    else this.#suspects = [...inFlight, ...this.#suspects];
    this.#askSuspect();
  }

  #askSuspect(): void {
    if (this.#waiting.size > 0) return;
    const suspect = this.#suspects.shift();
    if (suspect !== undefined) this.#send(suspect);
  }
}

function answerOf(parsed: JsonObject): OracleAnswer {
  if (typeof parsed['panic'] === 'string') return { kind: 'panic', text: parsed['panic'] };
  if (typeof parsed['error'] === 'string') return { kind: 'error', text: parsed['error'] };
  return { kind: 'result', value: parsed['result'] ?? null };
}
