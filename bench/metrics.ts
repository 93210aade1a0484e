import { once } from 'node:events';
import { createServer } from 'node:http';
import { Worker } from 'node:worker_threads';
import { listen, PromMetrics, sendMetrics } from '#telemetry';
import { appKeyOf } from '#model';
import type { AppKey, Application } from '#model';
import { AppMetrics, exposeApplications } from '#controller';
import { mainThreadMs, median } from './fleet/measure.ts';
import { collectGarbage } from './harness.ts';
import type { BenchContext, Benchmark, BenchMetrics } from './harness.ts';

function applicationOf(index: number): Application {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: `app-${index}`, namespace: 'argocd', labels: { team: `team-${index % 50}` } },
    spec: {
      project: `project-${index % 100}`,
      source: { repoURL: `https://git.example.com/team-${index % 50}/app.git`, path: `apps/${index}` },
      destination: { server: serverOf(), namespace: `ns-${index}` },
    },
    status: { sync: { status: 'Synced' }, health: { status: 'Healthy' } },
  } as unknown as Application;
}

function serverOf(): string {
  return 'https://cluster.example.com:6443';
}

/** One series of info and one of a counter for each Application. */
function registryOf(applications: ReadonlyMap<AppKey, Application>): PromMetrics {
  const metrics = new PromMetrics();
  exposeApplications(metrics, { mine: () => applications.values(), serverOf, labels: [], conditions: [] });
  const counters = new AppMetrics({ metrics, serverOf, owned: (key) => applications.get(key) });
  for (const app of applications.values()) counters.orphaned(app, 0);
  return metrics;
}

/** Scrapes from another thread, so that the reader does not hold this event loop. */
class Scraper {
  readonly #port: number;
  readonly #reader: Worker;

  private constructor(port: number, reader: Worker) {
    this.#port = port;
    this.#reader = reader;
  }

  /** Resolves when the thread runs: its start costs this thread more than a scrape. */
  static async start(port: number): Promise<Scraper> {
    const code = `
      const { get } = require('node:http');
      const { parentPort } = require('node:worker_threads');
      parentPort.on('message', ({ port, headers }) => {
        get({ port, host: '127.0.0.1', headers, agent: false }, (response) => {
          let bytes = 0;
          response.on('data', (data) => (bytes += data.length));
          response.on('end', () => parentPort.postMessage(bytes));
        });
      });
      parentPort.postMessage(0);`;
    const reader = new Worker(code, { eval: true });
    const scraper = new Scraper(port, reader);
    await scraper.#answer();
    return scraper;
  }

  /** The length of the answer. */
  scrape(accept: 'gzip' | 'plain'): Promise<number> {
    const headers = accept === 'gzip' ? { 'accept-encoding': 'gzip' } : {};
    const answer = this.#answer();
    this.#reader.postMessage({ port: this.#port, headers });
    return answer;
  }

  async stop(): Promise<void> {
    await this.#reader.terminate();
  }

  async #answer(): Promise<number> {
    const [bytes] = (await once(this.#reader, 'message')) as [number];
    return bytes;
  }
}

interface LoopUse {
  /** Longest turn of the event loop. */
  readonly longestMs: number;
  readonly totalMs: number;
}

/**
 * CPU time of the turns of the event loop while `body` runs. Unlike the delay of the loop, other
 * programs on the machine do not affect it.
 */
async function observeTurns(body: () => Promise<unknown>): Promise<LoopUse> {
  const began = mainThreadMs();
  let last = began;
  let longestMs = 0;
  let next: NodeJS.Immediate;
  const turn = (): void => {
    const now = mainThreadMs();
    longestMs = Math.max(longestMs, now - last);
    last = now;
    next = setImmediate(turn);
  };
  next = setImmediate(turn);
  try {
    await body();
  } finally {
    clearImmediate(next);
  }
  return { longestMs, totalMs: mainThreadMs() - began };
}

async function measureScrapes({ smoke }: BenchContext): Promise<BenchMetrics> {
  const [size, rounds] = smoke ? [500, 2] : [50_000, 10];
  const applications = Array.from({ length: size }, (_, i) => applicationOf(i));
  const metrics = registryOf(new Map(applications.map((app) => [appKeyOf(app), app])));
  const server = createServer((request, response) => void sendMetrics(request, response, metrics));
  const port = await listen(server, 'the benchmark', '127.0.0.1', 0);
  const scraper = await Scraper.start(port);
  try {
    collectGarbage();
    const first = await observeTurns(() => scraper.scrape('gzip'));
    const zipped: LoopUse[] = [];
    for (let i = 0; i < rounds; i += 1) zipped.push(await observeTurns(() => scraper.scrape('gzip')));
    const plain: LoopUse[] = [];
    for (let i = 0; i < rounds; i += 1) plain.push(await observeTurns(() => scraper.scrape('plain')));
    const longest = (all: readonly LoopUse[]): number => Math.max(...all.map(({ longestMs }) => longestMs));
    return {
      scrape_50k_first_turn_max_ms: first.longestMs,
      scrape_50k_gzip_turn_max_ms: longest(zipped),
      scrape_50k_plain_turn_max_ms: longest(plain),
      scrape_50k_gzip_loop_cpu_ms: median(zipped.map(({ totalMs }) => totalMs)),
      scrape_50k_plain_bytes: await scraper.scrape('plain'),
    };
  } finally {
    await scraper.stop();
    server.close();
    server.closeAllConnections();
  }
}

/** How long a scrape of a replica with many Applications holds the event loop. */
export const metricsBenchmark: Benchmark = {
  name: 'metrics',
  about: 'longest turn of the event loop, in CPU time, while 50,000 Applications (100,000 series) are scraped',
  run: measureScrapes,
};
