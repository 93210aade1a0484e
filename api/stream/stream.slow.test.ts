import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock } from '#base';
import type { KubeObject } from '#model';
import type { SlotRecord } from '#sharding';
import { eventually } from '#support';
import { silentLogger } from '#telemetry';
import { fullViewer } from '../access/viewer.ts';
import type { Viewer } from '../access/viewer.ts';
import type { ReplicaFacts } from '../facts.ts';
import { createApiHandler } from '../http/handler.ts';
import { ReadApi } from '../read-api.ts';
import { factsOf, idleController, ownershipOf } from '../testing/replica-facts.ts';
import { ChangeFeed } from './change-feed.ts';

let apps: Map<string, KubeObject>;
let epoch: number;
let version = 0;
let viewer: Viewer;
let server: Server;
let open: AbortController;

const app = (namespace: string, name: string, more: object = {}): KubeObject => ({
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Application',
  metadata: { namespace, name, resourceVersion: String((version += 1)) },
  spec: { project: 'default', source: { repoURL: 'https://git/x' }, destination: { name: 'c' } },
  ...more,
});

function put(namespace: string, name: string, more: object = {}): void {
  apps.set(`${namespace}/${name}`, app(namespace, name, more));
}

function facts(): ReplicaFacts {
  const holders = new Map([[0, { holder: 'replica-0' } as SlotRecord]]);
  return factsOf(
    idleController(() => apps),
    systemClock,
    { ownership: ownershipOf(() => ({ epoch, holders })) },
  );
}

beforeEach(async () => {
  apps = new Map();
  epoch = 1;
  viewer = fullViewer;
  open = new AbortController();
  const api = new ReadApi({ facts: facts(), clock: systemClock, peers: () => [] });
  const identify = (): Promise<{ viewer: Viewer; isPeer: boolean }> => Promise.resolve({ viewer, isPeer: false });
  server = createServer(createApiHandler({ api, logger: silentLogger, identify }));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  open.abort();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

interface Reader {
  text: string;
  isOver: boolean;
  readonly status: number;
}

async function follow(lastEventId?: string): Promise<Reader> {
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/stream`, {
    signal: open.signal,
    headers: lastEventId === undefined ? {} : { 'last-event-id': lastEventId },
  });
  const reader = { text: '', isOver: false, status: response.status };
  const read = async (): Promise<void> => {
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) reader.text += part;
  };
  read()
    .catch(() => undefined)
    .finally(() => {
      reader.isOver = true;
    });
  return reader;
}

const lastId = ({ text }: Reader): string => [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? '';

describe('the stream of changes', () => {
  it('begins with a reset, and then sends what changed and what is gone', async () => {
    put('argocd', 'web');
    const reader = await follow();
    await eventually(() => expect(reader.text).toMatch(/^event: reset$/m));
    put('argocd', 'web', { status: { sync: { status: 'OutOfSync' } } });
    await eventually(() => expect(reader.text).toMatch(/^event: applications\ndata: .*"sync":"OutOfSync"/m));
    apps.delete('argocd/web');
    await eventually(() => expect(reader.text).toContain('"removed":["argocd/web"]'));
  });

  it('tells that owners changed', async () => {
    const reader = await follow();
    await eventually(() => expect(reader.text).toMatch(/^event: reset$/m));
    epoch = 2;
    await eventually(() => expect(reader.text).toMatch(/^event: ownership$/m));
  });

  it('continues where a reader stopped, without a reset', async () => {
    put('argocd', 'web');
    const first = await follow();
    await eventually(() => expect(lastId(first)).not.toBe(''));
    open.abort();
    open = new AbortController();
    put('argocd', 'missed');
    const second = await follow(lastId(first));
    await eventually(() => expect(second.text).toContain('"name":"missed"'));
    expect(second.text).not.toContain('event: reset');
  });

  it('begins again for a reader of another process', async () => {
    const reader = await follow('0123456789ab-1');
    await eventually(() => expect(reader.text).toMatch(/^event: reset$/m));
  });

  it('shows only the namespaces that the reader may read, and begins again when they change', async () => {
    const readable = new Set(['mine']);
    viewer = { may: ({ namespace }) => Promise.resolve(readable.has(namespace)) };
    put('mine', 'seen');
    put('theirs', 'hidden');
    const reader = await follow();
    await eventually(() => expect(reader.text).toMatch(/^event: reset$/m));
    put('theirs', 'hidden', { status: { sync: { status: 'OutOfSync' } } });
    put('mine', 'seen', { status: { sync: { status: 'Synced' } } });
    await eventually(() => expect(reader.text).toContain('"name":"seen"'));
    expect(reader.text).not.toContain('hidden');
    apps.delete('theirs/hidden');
    put('mine', 'seen', { status: { sync: { status: 'Unknown' } } });
    await eventually(() => expect(reader.text).toContain('"sync":"Unknown"'));
    expect(reader.text).not.toContain('hidden');
    put('theirs', 'later');
    readable.add('theirs');
    // Rights are read again with each heartbeat.
    await eventually(() => expect(reader.text.match(/^event: reset$/gm)).toHaveLength(2), 18_000);
  });

  it('shows no credentials of addresses', async () => {
    const reader = await follow();
    await eventually(() => expect(reader.text).toMatch(/^event: reset$/m));
    const conditions = [{ type: 'ComparisonError', message: 'cannot read https://me:c4nary@git/x' }];
    put('argocd', 'web', { status: { conditions } });
    await eventually(() => expect(reader.text).toContain('cannot read https://git/x'));
    expect(reader.text).not.toContain('c4nary');
  });

  it('is refused to a user that has too many of them, and to no other', async () => {
    viewer = { ...fullViewer, user: 'alice' };
    for (let i = 0; i < 8; i += 1) expect((await follow()).status).toBe(200);
    expect((await follow()).status).toBe(429);
    viewer = { ...fullViewer, user: 'bob' };
    expect((await follow()).status).toBe(200);
  });
});

describe('the pool of streams', () => {
  it('is not touched by users without any right: 403, and the next viewer gets its stream', async () => {
    put('argocd', 'web');
    for (let user = 0; user < 14; user += 1) {
      viewer = { user: `nobody-${user}`, may: () => Promise.resolve(false) };
      for (let i = 0; i < 8; i += 1) expect((await follow()).status).toBe(403);
    }
    viewer = { ...fullViewer, user: 'alice' };
    expect((await follow()).status).toBe(200);
  });

  it('ends the stream of the tenant that has the most when another one comes', async () => {
    const readers: Reader[] = [];
    for (let i = 0; i < 100; i += 1) {
      viewer = { ...fullViewer, user: `sa-${i}`, tenant: 'team-a' };
      readers.push(await follow());
    }
    viewer = { ...fullViewer, user: 'alice', tenant: 'alice' };
    expect((await follow()).status).toBe(200);
    await eventually(() => expect(readers.filter(({ isOver }) => isOver)).toHaveLength(1));
    viewer = { ...fullViewer, user: 'sa-100', tenant: 'team-a' };
    expect((await follow()).status).toBe(429);
  });
});

describe('the record of changes', () => {
  it('has a bound: a listener that is far behind begins again', () => {
    const feed = new ChangeFeed(facts(), systemClock);
    const start = feed.current();
    for (let round = 0; round < 5; round += 1) {
      for (let i = 0; i < 10_000; i += 1) put('argocd', `app-${i}`);
      feed.scan();
    }
    expect(feed.after(start)).toBeUndefined();
    expect(feed.after(feed.current())).toEqual({ position: feed.current(), keys: [], ownership: false });
  });

  it('is read in batches that lose nothing', () => {
    const feed = new ChangeFeed(facts(), systemClock);
    let position = feed.current();
    for (let i = 0; i < 1200; i += 1) put('argocd', `app-${i}`);
    feed.scan();
    const seen = new Set<string>();
    let batches = 0;
    for (let next = feed.after(position)!; next.position > position; next = feed.after(position)!) {
      position = next.position;
      batches += 1;
      for (const key of next.keys) seen.add(key);
    }
    expect([seen.size, batches]).toEqual([1200, 3]);
  });
});
