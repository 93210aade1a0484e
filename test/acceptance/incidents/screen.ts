import { createServer } from 'node:http';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect } from '@jest/globals';
import { createApiHandler, fullViewer, ReadApi } from '#api';
import { systemClock } from '#base';
import { silentLogger } from '#telemetry';
import { runCommandLine } from '../../../cli/testing/index.ts';
import type { Replica, World } from '../world.ts';

/** Lines that fit on a terminal of the classic size. */
const screenLines = 24;

export interface Screen {
  readonly code: number;
  /** The first screen, with times, generated names and addresses masked. */
  readonly lines: readonly string[];
}

/** The lines about owner, destination and last pass that most answers share. */
export const head: readonly string[] = [
  'Owner        test-0 (shard 0), since TIME (AGE), this replica became the owner',
  'Destination  dest · https://dest, namespace apps, project default',
  'Last pass    AGE ago, took AGE after AGE in the queue, …',
  '             because …',
  '             stages: …',
];

/** Long enough on a busy machine, and shorter than the limit of a test. */
export const screenTimeoutMs = 30_000;
export const testTimeoutMs = 90_000;
const pollMs = 250;

/** Waits until `driftless explain demo` prints this first screen. */
export async function expectScreen(
  world: World,
  replica: Replica,
  expected: Screen,
  without: (line: string) => string = (line) => line,
): Promise<void> {
  await untilScreen(() => explain(world, replica, 'demo'), expected, without);
}

/** Reads screens until one is as expected; fails with the last one. */
export async function untilScreen(
  read: () => Promise<Screen>,
  expected: Screen,
  without: (line: string) => string = (line) => line,
): Promise<void> {
  const end = systemClock.monotonic() + screenTimeoutMs;
  for (;;) {
    const { code, lines } = await read();
    const shown = { code, lines: lines.map(without) };
    if (isDeepStrictEqual(shown, expected)) return;
    if (systemClock.monotonic() > end) expect(shown).toEqual(expected);
    await systemClock.sleep(pollMs);
  }
}

let calls = 0;

/** Runs `driftless explain` over the Unix socket of a replica. */
async function explain(world: World, replica: Replica, ...argv: readonly string[]): Promise<Screen> {
  const api = new ReadApi({ facts: replica.facts, clock: systemClock, peers: () => [] });
  const identify = () => Promise.resolve({ viewer: fullViewer, isPeer: false });
  const server = createServer(createApiHandler({ api, logger: silentLogger, identify }));
  calls += 1;
  const path = join(world.root, `explain-${calls}.sock`);
  await new Promise<void>((resolve) => void server.listen(path, resolve));
  try {
    return await run(world, ['explain', ...argv, '--socket', path]);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

async function run(world: World, argv: readonly string[]): Promise<Screen> {
  const text: string[] = [];
  const print = (line: string): void => void text.push(line);
  const output = { color: false, live: false, out: print, err: print, progress: () => undefined };
  const code = await runCommandLine(argv, { env: {}, output, signal: new AbortController().signal });
  return {
    code,
    lines: firstScreen(world.root, text).map((line) => line.replaceAll(world.cluster.url, 'https://dest')),
  };
}

/** The lines of the first screen, without what differs between two runs. */
export function firstScreen(root: string, lines: readonly string[]): readonly string[] {
  return lines.slice(0, screenLines).map((line) => masked(root, line));
}

function masked(root: string, line: string): string {
  return line
    .replaceAll(root, '')
    .replaceAll(/(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d UTC/g, 'TIME')
    .replaceAll(/(?<!for )\b\d+(?:ms|[smh](?:\d+[smh])?)\b/g, 'AGE')
    .replaceAll(/for \d+(?:ms|[smh](?:\d+[smh])?)(?=$|,)/g, 'for AGE')
    .replaceAll(/\b(before|db-[0-9a-f]{10})-[a-z0-9]{5}\b/g, '$1-POD')
    .replaceAll(/\b[0-9a-f]{10}\b/g, 'HASH')
    .replace(/(in the queue, |^ {13}because |^ {13}stages: ).*/, '$1…');
}
