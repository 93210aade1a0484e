import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { newAbortController, SecretValue, seededRandom, Shutdown, systemClock } from '#base';
import type { KubeObject } from '#model';
import { createRedisPublisher } from '#publish';
import type { ManagedResource, PublishTerms, TreeNode } from '#publish';
import { createLogger, PromMetrics } from '#telemetry';
import { median, measureUsage } from './fleet/measure.ts';
import type { ResourceUsage } from './fleet/measure.ts';
import type { BenchContext, Benchmark } from './harness.ts';

/** The published state of one Application. */
interface PublishedState {
  readonly nodes: readonly TreeNode[];
  readonly resources: readonly ManagedResource[];
}

/** Responds like Redis, stores nothing, and counts the stored bytes. */
class RedisSink {
  bytes = 0;
  readonly #server = createServer((socket) => this.#serve(socket));

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #serve(socket: Socket): void {
    const reader = new CommandReader((words) => {
      this.bytes += words.reduce((sum, { length }) => sum + length, 0);
      const name = words[0]?.text.toLowerCase();
      const info = 'run_id:a1\r\n';
      if (name === 'info') socket.write(`$${info.length}\r\n${info}\r\n`);
      else if (name === 'exists') socket.write(`:${words.length - 1}\r\n`);
      else socket.write(name === 'set' || name === 'select' ? '+OK\r\n' : ':0\r\n');
    });
    socket.on('data', (data) => reader.read(data));
    socket.on('error', () => socket.destroy());
  }
}

/** A word of a command; only the length of a long one is kept. */
interface CommandWord {
  readonly text: string;
  readonly length: number;
}

/** Parses commands of Redis' protocol (arrays of bulk strings) without keeping their content. */
class CommandReader {
  readonly #onCommand: (words: readonly CommandWord[]) => void;
  #line = '';
  #words: CommandWord[] = [];
  /** Remaining words of this command. */
  #left = 0;
  /** Remaining bytes of this word including its line break, its length, and its start. */
  #body: { left: number; length: number; text: string } | undefined;

  constructor(onCommand: (words: readonly CommandWord[]) => void) {
    this.#onCommand = onCommand;
  }

  read(data: Buffer): void {
    for (let at = 0; at < data.length;) at = this.#body === undefined ? this.#head(data, at) : this.#skip(data, at);
  }

  #head(data: Buffer, at: number): number {
    const end = data.indexOf('\n', at);
    this.#line += data.toString('latin1', at, end < 0 ? data.length : end);
    if (end < 0) return data.length;
    const count = Number(this.#line.trim().slice(1));
    if (this.#line.startsWith('*')) [this.#left, this.#words] = [count, []];
    else this.#body = { left: count + 2, length: count, text: '' };
    this.#line = '';
    return end + 1;
  }

  #skip(data: Buffer, at: number): number {
    const body = this.#body ?? { left: 0, length: 0, text: '' };
    const end = Math.min(data.length, at + body.left);
    if (body.length < 32) body.text += data.toString('latin1', at, end);
    body.left -= end - at;
    if (body.left > 0) return end;
    this.#words.push({ text: body.text.trim(), length: body.length });
    this.#body = undefined;
    this.#left -= 1;
    if (this.#left === 0) this.#onCommand(this.#words);
    return end;
  }
}

function stateOf(name: string, version: string): KubeObject {
  const labels = { 'app.kubernetes.io/instance': 'shop', 'app.kubernetes.io/name': name };
  const env = Array.from({ length: 8 }, (_, i) => ({ name: `VARIABLE_${i}`, value: `value ${i} of ${name}` }));
  const container = { name: 'main', image: `registry.example.com/team/${name}:${version}`, env };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'shop', labels, resourceVersion: version },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
}

function nodeOf(name: string, resourceVersion: string): TreeNode {
  return {
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    namespace: 'shop',
    name,
    uid: `8d1f0a52-77c4-4b39-9d5e-${name.padStart(12, '0')}`,
    resourceVersion,
    images: [`registry.example.com/team/${name}:1`],
    health: { status: 'Healthy' },
    createdAt: '2026-01-01T00:00:00Z',
  };
}

function resourceOf(name: string, resourceVersion: string): ManagedResource {
  const state = stateOf(name, resourceVersion);
  return {
    group: 'apps',
    kind: 'Deployment',
    namespace: 'shop',
    name,
    targetState: state,
    liveState: state,
    normalizedLiveState: state,
    predictedLiveState: state,
    hook: false,
    resourceVersion,
    modified: false,
  };
}

/** The state with one resource changed; the others are identical objects. */
function withEdit({ nodes, resources }: PublishedState, at: number, version: string): PublishedState {
  const name = nodes[at]?.name ?? '';
  return { nodes: nodes.with(at, nodeOf(name, version)), resources: resources.with(at, resourceOf(name, version)) };
}

async function measurePublish({ smoke, random }: BenchContext): Promise<Readonly<Record<string, number>>> {
  const [size, edits, fulls] = smoke ? [50, 2, 1] : [5000, 20, 3];
  const sink = new RedisSink();
  const none = new SecretValue('');
  const publisher = createRedisPublisher(
    {
      connection: {
        address: await sink.start(),
        sentinels: [],
        sentinelMaster: '',
        database: 0,
        credentialsDir: '',
        tls: undefined,
        credentials: { username: '', password: none, sentinelUsername: '', sentinelPassword: none },
      },
      prefix: '',
      compression: 'gzip',
      appStateExpirationMs: 3_600_000,
      defaultExpirationMs: 86_400_000,
      treeShardSize: 0,
      retries: 3,
      hostname: 'bench',
    },
    {
      clock: systemClock,
      random: seededRandom(1),
      metrics: new PromMetrics(),
      logger: createLogger({ level: 'error', format: 'json', destination: { write: () => undefined } }),
    },
  );
  const stop = newAbortController();
  const running = publisher.run(stop.signal);
  const { signal } = stop;
  const terms: PublishTerms = { signal, fence: (send) => send(signal) };
  await publisher.ready?.(signal);
  const publish = async (instance: string, { nodes, resources }: PublishedState): Promise<void> => {
    await publisher.setTree(instance, { nodes, orphanedNodes: [] }, terms);
    await publisher.setManagedResources(instance, resources, terms);
  };
  const names = Array.from({ length: size }, (_, i) => `web-${i}`);
  let shown: PublishedState = {
    nodes: names.map((name) => nodeOf(name, '1')),
    resources: names.map((name) => resourceOf(name, '1')),
  };
  try {
    await publish('warm', shown);
    const full: ResourceUsage[] = [];
    for (let i = 0; i < fulls; i += 1) full.push(await measureUsage(() => publish(`app-${i}`, shown)));
    const before = sink.bytes;
    const edit: ResourceUsage[] = [];
    for (let i = 0; i < edits; i += 1) {
      shown = withEdit(shown, Math.floor(random.next() * size), `v${i}`);
      edit.push(await measureUsage(() => publish('warm', shown)));
    }
    const cpu = (all: readonly ResourceUsage[]): number => median(all.map(({ cpuMs }) => cpuMs));
    const delay = (all: readonly ResourceUsage[]): number => median(all.map(({ delayMaxMs }) => delayMaxMs));
    return {
      publish_full_5k_cpu_ms: cpu(full),
      publish_full_5k_event_loop_max_ms: delay(full),
      publish_edit_5k_cpu_ms: cpu(edit),
      publish_edit_5k_event_loop_max_ms: delay(edit),
      publish_full_to_edit_5k_ratio: cpu(full) / cpu(edit),
      publish_edit_5k_stored_bytes: (sink.bytes - before) / edits,
    };
  } finally {
    stop.abort(new Shutdown());
    await running;
    await sink.close();
  }
}

/**
 * Cost of publishing to Redis: tree and managed resources of one big Application, complete and
 * after one edit.
 */
export const publishBenchmark: Benchmark = {
  name: 'publish',
  about:
    'CPU for tree and managed resources of 5,000 Deployments, compressed, into Redis: all of them, and after one edit',
  run: measurePublish,
};
