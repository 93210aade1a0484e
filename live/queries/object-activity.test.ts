import { describe, expect, it } from '@jest/globals';
import type { Json, JsonObject } from '#base';
import type { KubeReader, ListOptions, PodLogOptions } from '#kube';
import { KubeApiError, KubeConnectionError } from '#kube';
import type { KubeObject } from '#model';
import { activityOf } from './object-activity.ts';

const { signal } = new AbortController();
const pod = { group: '', kind: 'Pod', namespace: 'apps', name: 'web-1' };

function event(name: string, more: JsonObject): KubeObject {
  const metadata = { name, namespace: 'apps', creationTimestamp: '2026-01-01T00:00:00Z' };
  return { apiVersion: 'v1', kind: 'Event', metadata, ...more };
}

describe('the events about an object', () => {
  const listing = (...items: readonly KubeObject[]): { readonly client: KubeReader; readonly asked: ListOptions[] } => {
    const asked: ListOptions[] = [];
    const list = (_: unknown, options: ListOptions): Promise<object> => {
      asked.push(options);
      return Promise.resolve({ items, resourceVersion: '1' });
    };
    return { client: { list } as unknown as KubeReader, asked };
  };

  it('are the newest first, by the time that each way of reporting has', async () => {
    const { client, asked } = listing(
      event('created-only', { reason: 'Old' }),
      event('series', {
        reason: 'BackOff',
        type: 'Warning',
        reportingComponent: 'kubelet',
        eventTime: '2026-01-01T00:00:01.000000Z',
        series: { count: 9, lastObservedTime: '2026-01-01T00:09:00.000000Z' },
        message: 'restarting \u001b[31mfailed\u001b[0m container',
      }),
      event('plain', {
        reason: 'Scheduled',
        type: 'Normal',
        source: { component: 'default-scheduler' },
        lastTimestamp: '2026-01-01T00:05:00Z',
        count: 2,
      }),
    );
    expect(await activityOf(client).events(pod, signal)).toEqual([
      {
        type: 'Warning',
        reason: 'BackOff',
        message: 'restarting failed container',
        reporter: 'kubelet',
        count: 9,
        lastAt: '2026-01-01T00:09:00.000000Z',
      },
      {
        type: 'Normal',
        reason: 'Scheduled',
        message: '',
        reporter: 'default-scheduler',
        count: 2,
        lastAt: '2026-01-01T00:05:00Z',
      },
      { type: '', reason: 'Old', message: '', reporter: '', count: 1, lastAt: '2026-01-01T00:00:00Z' },
    ]);
    expect(asked).toMatchObject([
      {
        namespace: 'apps',
        fieldSelector: 'involvedObject.kind=Pod,involvedObject.name=web-1,involvedObject.namespace=apps',
      },
    ]);
  });

  it('are in "default" for a cluster-scoped object', async () => {
    const { client, asked } = listing();
    await activityOf(client).events({ group: '', kind: 'Node', namespace: '', name: 'n' }, signal);
    expect(asked).toMatchObject([
      {
        namespace: 'default',
        fieldSelector: 'involvedObject.kind=Node,involvedObject.name=n,involvedObject.namespace=',
      },
    ]);
  });

  it('are of an object whose name has separators of selectors', async () => {
    const { client, asked } = listing();
    const odd = { group: 'rbac.authorization.k8s.io', kind: 'Role', namespace: 'apps', name: 'a,b=c\\d' };
    await activityOf(client).events(odd, signal);
    expect(asked[0]?.fieldSelector).toContain('involvedObject.name=a\\,b\\=c\\\\d,');
  });

  it('are not of an object of another group with the same kind and name', async () => {
    const about = (name: string, apiVersion?: string): KubeObject =>
      event(name, {
        reason: name,
        involvedObject: { kind: 'Service', ...(apiVersion === undefined ? {} : { apiVersion }) },
      });
    const { client } = listing(about('core', 'v1'), about('knative', 'serving.knative.dev/v1'), about('unknown'));
    const reasons = async (group: string): Promise<readonly string[]> =>
      (await activityOf(client).events({ ...pod, group, kind: 'Service' }, signal)).map(({ reason }) => reason).sort();
    expect(await reasons('')).toEqual(['core', 'unknown']);
    expect(await reasons('serving.knative.dev')).toEqual(['knative', 'unknown']);
  });

  it('are at most a hundred', async () => {
    const many = Array.from({ length: 300 }, (_, i) => event(`e${i}`, {}));
    expect(await activityOf(listing(...many).client).events(pod, signal)).toHaveLength(100);
  });
});

describe('the log of a pod', () => {
  const containers = (...names: readonly string[]): Json => names.map((name) => ({ name }));
  const running = (text: string, annotations: Record<string, string> = {}): KubeReader => {
    const found = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web-1', namespace: 'apps', annotations },
      spec: { containers: containers('web', 'proxy'), initContainers: containers('migrate') },
    };
    const podLog = (_: unknown, options: { readonly container: string; readonly isPrevious: boolean }) =>
      options.isPrevious
        ? Promise.reject(new KubeApiError({ code: 400, reason: 'BadRequest', message: 'no previous' }, 'GET'))
        : Promise.resolve(`${options.container}: ${text}`);
    return { get: () => Promise.resolve(found), podLog } as unknown as KubeReader;
  };
  const current = { container: undefined, isPrevious: false };

  it.each([
    ['the first one', {}, undefined, 'web'],
    ['the one that an annotation names', { 'kubectl.kubernetes.io/default-container': 'proxy' }, undefined, 'proxy'],
    [
      'the first one if the annotation names none of them',
      { 'kubectl.kubernetes.io/default-container': 'x' },
      '',
      'web',
    ],
    ['the chosen one', {}, 'migrate', 'migrate'],
    ['the first one if the chosen one is not there', {}, 'x', 'web'],
  ])('is of %s', async (_, annotations, container, expected) => {
    const log = await activityOf(running('ready\n', annotations)).log(pod, { ...current, container }, signal);
    expect(log).toEqual({
      container: expected,
      containers: ['web', 'proxy', 'migrate'],
      text: `${expected}: ready\n`,
    });
  });

  it('begins with a whole line, and is cut from the front', async () => {
    const lines = Array.from({ length: 30_000 }, (_, i) => `line ${i}`);
    const { text } = await activityOf(running(lines.join('\n'))).log(pod, current, signal);
    expect(text.length).toBeLessThanOrEqual(65_536);
    expect(text.endsWith('line 29999')).toBe(true);
    expect(lines).toContain(text.split('\n')[0]);
  });

  it('has no controls and no credential that its form tells', async () => {
    const { text } = await activityOf(running('\u001b[1mGET\u001b[0m https://me:s3cret@git/x\u0007\n')).log(
      pod,
      current,
      signal,
    );
    expect(text).toMatch(/^web: GET https:\/\/.*git\/x\n$/);
    expect(text).not.toContain('s3cret');
  });

  it.each([
    [1000, 500],
    [100, 4000],
    [10, 60_000],
  ])('asks for %i lines of a log with %i characters a line, so that the newest are in it', async (asked, length) => {
    const lines = Array.from({ length: 1200 }, (_, i) => `${i} ${'ü'.repeat(length / 2)}`);
    const seen: number[] = [];
    const get = (): Promise<object> => running('').get({} as never, {} as never, {} as never);
    const podLog = (_: unknown, { tailLines, limitBytes }: PodLogOptions): Promise<string> => {
      seen.push(tailLines);
      const tail = Buffer.from(lines.slice(-tailLines).join('\n'));
      return Promise.resolve(tail.subarray(0, limitBytes).toString());
    };
    const { text } = await activityOf({ get, podLog } as unknown as KubeReader).log(pod, current, signal);
    expect(seen.at(-1)).toBe(asked);
    expect(text.endsWith(lines.at(-1)!)).toBe(true);
  });

  it('says why there is none, and which containers have one', async () => {
    expect(await activityOf(running('')).log(pod, { ...current, isPrevious: true }, signal)).toEqual({
      container: 'web',
      containers: ['web', 'proxy', 'migrate'],
      text: '',
      message: expect.stringContaining('no previous') as unknown,
    });
  });

  it('fails if the cluster cannot be reached', async () => {
    const get = (): Promise<object> => running('').get({} as never, {} as never, {} as never);
    const podLog = (): Promise<string> => Promise.reject(new KubeConnectionError('refused', 'GET', {}));
    await expect(activityOf({ get, podLog } as unknown as KubeReader).log(pod, current, signal)).rejects.toThrow(
      'refused',
    );
  });
});
