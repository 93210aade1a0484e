import { beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import { KubeApiError, KubeConnectionError } from '#kube';
import type { ApiResource, KubeObject } from '#model';
import { FakeClock } from '#support';
import { AgentRecord } from './agent-record.ts';
import { FormerLease } from './former-lease.ts';
import { bindingOf, newMark, recordAnnotations, recordedAs, takeOverCommand } from './identity.ts';
import type { AgentBinding } from './identity.ts';

const shop = bindingOf('https://git/shop', 'deploy', 'staging');
const recordKey = 'Lease driftless-agent/agent-shop';
const formerKey = 'Lease staging/driftless-agent-shop';

function refusal(code: number, reason: string): KubeApiError {
  return new KubeApiError({ code, reason, message: reason }, 'the lease');
}

const unreachable = new KubeConnectionError('https://api', 'no route', undefined);

interface Named {
  readonly namespace?: string;
  readonly name: string;
}

/** Leases and Namespaces, as an API server stores them. */
class ObjectStore {
  readonly objects = new Map<string, KubeObject>();
  /** Failures by `VERB KIND`. */
  readonly failures = new Map<string, Error>();
  /** Stores the write, and loses its answer. */
  losesAnswer = false;
  #version = 0;

  constructor() {
    for (const name of ['kube-system', 'driftless-agent']) this.#store(`Namespace /${name}`, namespaceOf(name));
  }

  readonly client = {
    get: (resource: ApiResource, at: Named): Promise<KubeObject> =>
      this.#answer('get', resource, at, (key) => this.#at(key)),
    create: (resource: ApiResource, object: KubeObject): Promise<KubeObject> =>
      this.#answer('create', resource, { name: '', ...object.metadata }, (key) => {
        const { namespace } = object.metadata;
        if (namespace !== undefined) this.#at(`Namespace /${namespace}`);
        if (this.objects.has(key)) throw refusal(409, 'AlreadyExists');
        return this.#store(key, object);
      }),
    replace: (resource: ApiResource, object: KubeObject): Promise<KubeObject> =>
      this.#answer('replace', resource, { name: '', ...object.metadata }, (key) => {
        if (object.metadata.resourceVersion !== this.#at(key).metadata.resourceVersion) throw refusal(409, 'Conflict');
        const stored = this.#store(key, object);
        if (this.losesAnswer) throw new Error('no answer');
        return stored;
      }),
    patch: (resource: ApiResource, at: Named, { body }: { readonly body: unknown }): Promise<KubeObject> =>
      this.#answer('patch', resource, at, (key) => {
        const { annotations } = (body as KubeObject).metadata;
        return this.#store(key, {
          ...this.#at(key),
          metadata: { ...this.#at(key).metadata, annotations },
        } as KubeObject);
      }),
    delete: (
      resource: ApiResource,
      at: Named,
      { preconditions }: { readonly preconditions?: { readonly resourceVersion?: string } },
    ): Promise<undefined> =>
      this.#answer('delete', resource, at, (key) => {
        if (preconditions?.resourceVersion !== this.#at(key).metadata.resourceVersion) throw refusal(409, 'Conflict');
        this.objects.delete(key);
        return undefined;
      }),
  };

  holder(key = recordKey): unknown {
    return (this.objects.get(key)?.['spec'] as JsonObject | undefined)?.['holderIdentity'];
  }

  annotate(annotations: Readonly<Record<string, string>>): void {
    const { metadata, ...rest } = this.#at(recordKey);
    this.#store(recordKey, {
      ...rest,
      metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
    });
  }

  put(key: string, object: KubeObject): void {
    this.#store(key, object);
  }

  #at(key: string): KubeObject {
    const found = this.objects.get(key);
    if (found === undefined) throw refusal(404, 'NotFound');
    return found;
  }

  #store(key: string, object: KubeObject): KubeObject {
    this.#version += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    this.objects.set(key, stored);
    return stored;
  }

  async #answer<T>(verb: string, { kind }: ApiResource, at: Named, answer: (key: string) => T): Promise<T> {
    const failure = this.failures.get(`${verb} ${kind}`);
    if (failure !== undefined) throw failure;
    return answer(`${kind} ${at.namespace ?? ''}/${at.name}`);
  }
}

function namespaceOf(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, uid: `uid-of-${name}` } };
}

/** The Lease of version 0.2. */
function formerLease(holder: string, source = 'https://git/shop#deploy'): KubeObject {
  const annotations = { 'driftless.io/agent-source': source };
  const metadata = { name: 'driftless-agent-shop', namespace: 'staging', annotations };
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: { holderIdentity: holder } };
}

let store: ObjectStore;
let clock: FakeClock;
let stop: AbortController;
let reasons: string[];
let refreshes: number;

beforeEach(() => {
  store = new ObjectStore();
  clock = new FakeClock();
  stop = new AbortController();
  reasons = [];
  refreshes = 0;
});

function record(holder: string, binding: AgentBinding = shop, namespaces: readonly string[] = []): AgentRecord {
  const client = store.client as never;
  const former = {
    client,
    clock,
    namespace: binding.namespace,
    name: 'shop',
    repository: binding.repository,
    path: 'deploy',
  };
  return new AgentRecord({
    client,
    clock,
    name: 'shop',
    holder,
    binding,
    namespaces,
    former: new FormerLease(former),
    onWaiting: (reason) => reasons.push(reason),
    onRefresh: () => (refreshes += 1),
  });
}

/** The outcome of a wait, after `ms` of virtual time. */
async function after(ms: number, work: Promise<unknown>): Promise<string> {
  let outcome = 'waits';
  work.then(
    () => (outcome = 'done'),
    (error: unknown) => (outcome = (error as Error).message),
  );
  await clock.advance(ms);
  return outcome;
}

/** A record that is held by `a`, and its renewal. */
async function held(): Promise<{ readonly mark: string; readonly keeping: Promise<void> }> {
  const first = record('a');
  const mark = await first.acquire(stop.signal);
  return { mark, keeping: first.keep(stop.signal) };
}

describe('the record of an identity', () => {
  it('is taken at once where there is none, or where it was given up', async () => {
    const first = record('a');
    expect(await after(0, first.acquire(stop.signal))).toBe('done');
    expect(store.holder()).toBe('a');
    // A MicroTime has six fractional digits: the API server refuses others.
    const renewTime = expect.stringMatching(/T\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(store.objects.get(recordKey)?.['spec']).toMatchObject({ renewTime });
    await first.release(stop.signal);
    expect(store.holder()).toBe('');
    expect(await after(0, record('b').acquire(stop.signal))).toBe('done');
    expect(store.holder()).toBe('b');
  });

  it('gives one holder to two agents that start in the same moment', async () => {
    const outcomes = [record('a'), record('b')].map((each) => after(0, each.acquire(stop.signal)));
    expect((await Promise.all(outcomes)).sort()).toEqual(['done', 'waits']);
    const { namespace, ...other } = shop;
    const rivals = [record('a'), record('c', { ...other, namespace: `${namespace}-2` })];
    store.objects.delete(recordKey);
    const texts = await Promise.all(rivals.map((each) => after(2000, each.acquire(stop.signal))));
    expect(texts.filter((text) => text === 'done')).toHaveLength(1);
    expect(texts.join(' ')).toContain('belongs to');
  });

  it('makes a second agent wait while the first renews, and names the first one once', async () => {
    const { keeping } = await held();
    expect(await after(120_000, record('b').acquire(stop.signal))).toBe('waits');
    expect(store.holder()).toBe('a');
    expect(reasons).toEqual(['agent a keeps https://git/shop folder deploy in namespace staging']);
    stop.abort();
    await keeping;
  });

  it('is taken over when it was not renewed for its duration, by the clock of the waiting agent', async () => {
    await record('a').acquire(stop.signal);
    const next = record('b').acquire(stop.signal);
    expect(await after(30_000, next)).toBe('waits');
    expect(await after(3000, next)).toBe('done');
    expect(store.holder()).toBe('b');
  });

  it.each([
    ['repository', { repository: 'https://git/other' }],
    ['path', { path: 'other' }],
    ['namespace', { namespace: 'prod' }],
  ])('refuses a name that belongs to another %s, even if no process holds it', async (_part, other) => {
    const first = record('a');
    const mark = await first.acquire(stop.signal);
    await first.release(stop.signal);
    const binding = { ...shop, ...other };
    const outcome = await after(0, record('b', binding).acquire(stop.signal));
    expect(outcome).toContain('the name shop belongs to https://git/shop folder deploy in namespace staging, not to');
    expect(outcome).toContain(takeOverCommand('shop', binding));
    expect(store.holder()).toBe('');
    // As that command does: the objects keep their mark.
    store.annotate(recordedAs(binding, mark));
    expect(await record('b', binding).acquire(stop.signal)).toBe(mark);
  });

  it('gives another mark to a binding whose record was deleted, and the same one again to the first', async () => {
    const mark = await record('a').acquire(stop.signal);
    expect(mark).toBe(newMark('uid-of-kube-system', shop));
    store.objects.delete(recordKey);
    const other = bindingOf('https://git/shop', 'other', 'prod');
    expect(await record('b', other).acquire(stop.signal)).not.toBe(mark);
    store.objects.delete(recordKey);
    expect(await record('a').acquire(stop.signal)).toBe(mark);
  });

  it.each([
    ['without its repository', { [recordAnnotations.repository]: '' }],
    ['with the mark of another agent', { [recordAnnotations.mark]: 'driftless-agent/other/0123456789abcdef' }],
  ])('is refused %s', async (_how, annotations) => {
    await record('a').acquire(stop.signal);
    store.annotate(annotations);
    const outcome = await after(60_000, record('b').acquire(stop.signal));
    expect(outcome).toContain(
      'lease/agent-shop in namespace driftless-agent cannot be used, so nothing was applied or pruned',
    );
    expect(store.holder()).toBe('a');
  });

  it.each([
    [
      'another process has it',
      (): void => store.put(recordKey, { ...store.objects.get(recordKey)!, spec: { holderIdentity: 'b' } }),
    ],
    [
      'it was given to https://git/other',
      (): void => store.annotate({ [recordAnnotations.repository]: 'https://git/other' }),
    ],
    ['its annotations were edited', (): void => store.annotate({ [recordAnnotations.path]: '' })],
    ['its mark was edited', (): void => store.annotate({ [recordAnnotations.mark]: '0123456789abcdef' })],
    ['it was deleted', (): void => void store.objects.delete(recordKey)],
  ])('ends its agent: %s', async (why, change) => {
    const { keeping } = await held();
    change();
    expect(await after(10_000, keeping)).toContain(`lost lease/agent-shop in namespace driftless-agent (${why}`);
  });

  it('goes on after a renewal that landed without its answer', async () => {
    const { keeping } = await held();
    store.losesAnswer = true;
    expect(await after(10_000, keeping)).toBe('waits');
    store.losesAnswer = false;
    expect(await after(40_000, keeping)).toBe('waits');
    stop.abort();
    await keeping;
  });

  it('goes on after an edit that changes nothing, and has the source read when it asks for that', async () => {
    const { keeping } = await held();
    store.annotate({ note: 'mine' });
    expect(await after(30_000, keeping)).toBe('waits');
    expect(refreshes).toBe(0);
    store.annotate({ [recordAnnotations.refresh]: 'now' });
    expect(await after(30_000, keeping)).toBe('waits');
    expect(refreshes).toBe(1);
    const { annotations } = store.objects.get(recordKey)!.metadata;
    expect([annotations?.['note'], annotations?.[recordAnnotations.refresh]]).toEqual(['mine', undefined]);
    stop.abort();
    await keeping;
  });

  it('goes on after a conflict while it cannot be read, and ends its agent when it was taken', async () => {
    const { keeping } = await held();
    store.put(recordKey, { ...store.objects.get(recordKey)!, spec: { holderIdentity: 'b' } });
    store.failures.set('get Lease', unreachable);
    expect(await after(10_000, keeping)).toBe('waits');
    store.failures.clear();
    expect(await after(10_000, keeping)).toContain('another process has it');
  });

  it.each([
    ['does not answer', unreachable],
    ['refuses it', refusal(403, 'Forbidden')],
  ])('ends its agent before it expires while the API server %s', async (_how, failure) => {
    const { keeping } = await held();
    store.failures.set('replace Lease', failure);
    expect(await after(20_000, keeping)).toBe('waits');
    expect(await after(10_000, keeping)).toContain('it could not be renewed in time');
  });

  it.each(['get', 'create', 'replace'])(
    'is unusable without the right to %s it, and the message names the rights',
    async (verb) => {
      if (verb === 'replace') await record('a').acquire(stop.signal);
      store.failures.set(`${verb} Lease`, refusal(403, 'Forbidden'));
      const outcome = await after(60_000, record('b').acquire(stop.signal));
      expect(outcome).toContain(
        'nothing was applied or pruned: Forbidden. The agent needs get, create and update on leases',
      );
    },
  );

  it('permits writes until another process may hold it, also before its renewal notices', async () => {
    const first = record('a');
    expect(() => first.check()).toThrow('lost lease/agent-shop');
    await first.acquire(stop.signal);
    await clock.advance(29_000);
    expect(() => first.check()).not.toThrow();
    // As after SIGCONT: no timer of this process has fired yet.
    await clock.advance(1000);
    expect(() => first.check()).toThrow('(it was not renewed in time): nothing is pruned any more');
  });

  it('is awaited while the API server does not answer, and the reason is reported once', async () => {
    store.failures.set('get Lease', unreachable);
    const acquiring = record('a').acquire(stop.signal);
    expect(await after(60_000, acquiring)).toBe('waits');
    expect(reasons).toEqual([expect.stringContaining('cannot be used: cannot reach https://api: no route')]);
    store.failures.clear();
    expect(await after(2000, acquiring)).toBe('done');
  });

  it('gets its namespace where that is missing, or the command that creates it', async () => {
    store.objects.delete('Namespace /driftless-agent');
    store.failures.set('create Namespace', refusal(403, 'Forbidden'));
    const outcome = await after(0, record('a').acquire(stop.signal));
    expect(outcome).toContain('kubectl create namespace driftless-agent');
    store.failures.clear();
    expect(await after(0, record('a').acquire(stop.signal))).toBe('done');
    expect(store.objects.has('Namespace /driftless-agent')).toBe(true);
  });

  it.each([
    [undefined, 'Prune=false'],
    ['ServerSideApply=true, Prune=confirm', 'ServerSideApply=true,Prune=false'],
  ])('keeps its namespace from being pruned, where its options are %s', async (before, expected) => {
    const key = 'Namespace /driftless-agent';
    const option = 'argocd.argoproj.io/sync-options';
    const { metadata, ...rest } = namespaceOf('driftless-agent');
    store.put(key, { ...rest, metadata: { ...metadata, ...(before && { annotations: { [option]: before } }) } });
    store.failures.set('patch Namespace', refusal(403, 'Forbidden'));
    await record('a').acquire(stop.signal);
    store.failures.clear();
    await record('a').acquire(stop.signal);
    expect(store.objects.get(key)?.metadata.annotations?.[option]).toBe(expected);
  });

  it('has a mark without the right to read kube-system', async () => {
    store.failures.set('get Namespace', refusal(403, 'Forbidden'));
    expect(await record('a').acquire(stop.signal)).toBe(newMark('', shop));
  });

  it('leaves no timer behind', async () => {
    const { keeping } = await held();
    await clock.advance(5000);
    stop.abort();
    await keeping;
    expect(clock.pending).toBe(0);
  });
});

/** Renews a record three times, and ends without a release. */
async function renewAndCrash(held: AgentRecord): Promise<void> {
  const keeping = held.keep(stop.signal);
  await clock.advance(25_000);
  stop.abort();
  await keeping;
  stop = new AbortController();
}

/** The record as the next process acquires it, once the one before has expired. */
async function acquiredNext(...given: readonly [AgentBinding?, (readonly string[])?]): Promise<AgentRecord> {
  const next = record('b', ...given);
  const acquiring = next.acquire(stop.signal);
  await clock.advance(40_000);
  await acquiring;
  return next;
}

describe('the commit in a record', () => {
  const kept = { revision: 'a'.repeat(40), source: 's1' };

  /** Stores a commit, as an agent that then stops without a release. */
  async function stored(): Promise<AgentRecord> {
    const first = record('a');
    await first.acquire(stop.signal);
    first.keepRevision(kept);
    await first.stored(stop.signal);
    return first;
  }

  const next = async (): Promise<AgentRecord['kept']> => (await acquiredNext()).kept;

  it('is stored before anything of it is written, once, and outlives the process', async () => {
    const first = await stored();
    const version = (): unknown => store.objects.get(recordKey)?.metadata.resourceVersion;
    const before = version();
    first.keepRevision({ ...kept });
    await Promise.all([first.stored(stop.signal), first.stored(stop.signal)]);
    expect(version()).toBe(before);
    first.keepRevision({ ...kept, revision: 'b'.repeat(40) });
    await Promise.all([first.stored(stop.signal), first.stored(stop.signal)]);
    expect(version()).toBe(String(Number(before) + 1));
    expect(await next()).toEqual({ revision: { ...kept, revision: 'b'.repeat(40) } });
  });

  it('outlives renewals, a release, and a process that compared nothing', async () => {
    const first = await stored();
    await renewAndCrash(first);
    await first.release(stop.signal);
    const second = record('b');
    await second.acquire(stop.signal);
    await second.release(stop.signal);
    expect(await next()).toEqual({ revision: kept });
  });

  it.each([
    [
      'an agent without this rule renewed it',
      { spec: { renewTime: 'later', holderIdentity: '' } },
      'of another version',
    ],
    ['it is no commit', JSON.stringify({ ...kept, revision: 'main' }), 'the annotation was edited'],
    ['it has no source', JSON.stringify({ revision: kept.revision }), 'the annotation was edited'],
    ['it is no JSON', '{', 'the annotation was edited'],
    ['it is no object', '[]', 'the annotation was edited'],
  ])('is refused if %s', async (_how, change, message) => {
    await stored();
    if (typeof change === 'string') store.annotate({ [recordAnnotations.revision]: change });
    else store.put(recordKey, { ...store.objects.get(recordKey)!, ...change });
    const found = await next();
    expect(found.revision).toBeUndefined();
    expect(found.refusal).toMatch(new RegExp(`^lease/agent-shop in namespace driftless-agent: .*${message}`));
    // Nothing of a refused commit is left for a later process.
    expect(store.objects.get(recordKey)?.metadata.annotations).not.toHaveProperty([recordAnnotations.revision]);
  });

  it('that cannot be stored fails the write that waits for it, and is stored for the next one', async () => {
    const first = await stored();
    first.keepRevision({ ...kept, source: 's2' });
    store.failures.set('replace Lease', unreachable);
    await expect(first.stored(stop.signal)).rejects.toThrow('no route');
    store.failures.clear();
    await first.stored(stop.signal);
    expect(await next()).toEqual({ revision: { ...kept, source: 's2' } });
  });

  it('is not written any more after the record was given up', async () => {
    const first = await stored();
    await first.release(stop.signal);
    await record('b').acquire(stop.signal);
    first.keepRevision({ ...kept, source: 's2' });
    await expect(first.stored(stop.signal)).rejects.toThrow('(it was given up)');
    expect(store.holder()).toBe('b');
  });
});

describe('the kinds in a record', () => {
  const kinds = ['/ConfigMap', 'apps/Deployment'];

  /** Stores kinds, as an agent that then stops without a release. */
  async function stored(): Promise<AgentRecord> {
    const first = record('a');
    await first.acquire(stop.signal);
    expect(first.kinds).toBeUndefined();
    first.keepKinds(kinds);
    await first.stored(stop.signal);
    return first;
  }

  it('are stored before a write that waits for them, and outlive renewals, a release and a crash', async () => {
    const first = await stored();
    await renewAndCrash(first);
    expect((await acquiredNext()).kinds).toEqual(kinds);
    const third = record('b');
    await third.acquire(stop.signal);
    await third.release(stop.signal);
    expect((await acquiredNext()).kinds).toEqual(kinds);
  });

  it('fail the write that waits for them while they cannot be stored', async () => {
    const first = await stored();
    first.keepKinds([...kinds, '/Secret']);
    store.failures.set('replace Lease', unreachable);
    await expect(first.stored(stop.signal)).rejects.toThrow('no route');
    store.failures.clear();
    await first.stored(stop.signal);
    expect((await acquiredNext()).kinds).toEqual([...kinds, '/Secret']);
  });

  const annotated = (text: string) => (): void => store.annotate({ [recordAnnotations.kinds]: text });
  const changed = (change: object) => (): void => {
    const text = store.objects.get(recordKey)?.metadata.annotations?.[recordAnnotations.kinds] ?? '';
    store.annotate({ [recordAnnotations.kinds]: JSON.stringify({ ...(JSON.parse(text) as object), ...change }) });
  };

  it.each([
    ['another version of the agent renewed it', (): void => renewedElsewhere()],
    ['it is no JSON', annotated('{')],
    ['it is no object', annotated('["/ConfigMap"]')],
    ['it has an unknown version', changed({ version: 2 })],
    ['it has no list', changed({ kinds: '/ConfigMap' })],
    ['it has something else than kinds', changed({ kinds: ['/ConfigMap', 'Deployment'] })],
  ])('are unknown if %s', async (_how, change) => {
    await stored();
    change();
    expect((await acquiredNext()).kinds).toBeUndefined();
    expect(store.objects.get(recordKey)?.metadata.annotations).not.toHaveProperty([recordAnnotations.kinds]);
  });

  function renewedElsewhere(): void {
    store.put(recordKey, { ...store.objects.get(recordKey)!, spec: { renewTime: 'later', holderIdentity: '' } });
  }

  it.each([
    ['the name was taken over', { ...shop, path: 'other' }, []],
    ['the agent reads other namespaces', shop, ['staging']],
  ])('are unknown once %s, and again after that', async (_how, binding, namespaces) => {
    const first = await stored();
    const mark = await first.acquire(stop.signal);
    store.annotate(recordedAs(binding, mark));
    expect((await acquiredNext(binding, namespaces)).kinds).toBeUndefined();
    store.annotate(recordedAs(shop, mark));
    expect((await acquiredNext()).kinds).toBeUndefined();
  });

  it('are unknown in a record that was made again, also from a backup', async () => {
    await stored();
    const backup = store.objects.get(recordKey)!;
    store.objects.delete(recordKey);
    expect((await acquiredNext()).kinds).toBeUndefined();
    store.put(recordKey, { ...backup, metadata: { ...backup.metadata, uid: 'restored' } });
    expect((await acquiredNext()).kinds).toBeUndefined();
  });

  it('are left out if they are too many for an annotation', async () => {
    const first = await stored();
    first.keepKinds(Array.from({ length: 10_000 }, (_, index) => `group-${index}.example.com/Kind`));
    await first.stored(stop.signal);
    expect((await acquiredNext()).kinds).toBeUndefined();
  });
});

describe('the Lease of an agent of version 0.2', () => {
  it('is awaited while that agent runs, and removed when it stopped', async () => {
    store.put(formerKey, formerLease('old'));
    const acquiring = record('a').acquire(stop.signal);
    expect(await after(20_000, acquiring)).toBe('waits');
    expect(reasons).toEqual([expect.stringContaining('agent old of version 0.2 keeps')]);
    store.put(formerKey, formerLease(''));
    expect(await after(2000, acquiring)).toBe('done');
    expect(store.objects.has(formerKey)).toBe(false);
  });

  it('of another folder stays, and delays nobody', async () => {
    store.put(formerKey, formerLease('old', 'https://git/other#deploy'));
    expect(await after(0, record('a').acquire(stop.signal))).toBe('done');
    expect(store.objects.has(formerKey)).toBe(true);
  });

  it('that is taken while it is removed makes this agent wait again', async () => {
    store.put(formerKey, formerLease(''));
    store.failures.set('delete Lease', refusal(409, 'Conflict'));
    const acquiring = record('a').acquire(stop.signal);
    expect([await after(0, acquiring), store.holder()]).toEqual(['waits', '']);
    store.put(formerKey, formerLease('old'));
    store.failures.clear();
    expect([await after(20_000, acquiring), store.holder()]).toEqual(['waits', '']);
  });

  it('needs no rights in its namespace', async () => {
    store.put(formerKey, formerLease(''));
    store.failures.set('delete Lease', refusal(403, 'Forbidden'));
    expect(await after(0, record('a').acquire(stop.signal))).toBe('done');
  });
});
