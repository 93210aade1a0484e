import { beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import { systemClock, systemRandom } from '#base';
import { noAgentFile } from './agent-file.ts';
import { agentNamespace, hubObjects } from './hub-objects.ts';
import { HubStore } from './hub-store.ts';
import { bindingOf, sourceIdOf } from './identity.ts';
import { asComparedWith, followRevision } from './kept-revision.ts';

const [first, second, third] = ['a', 'b', 'c'].map((digit) => digit.repeat(40)) as [string, string, string];
const binding = bindingOf('https://git/shop', 'deploy', 'shop');
const plan = {
  name: 'shop',
  binding,
  repository: 'https://git/shop',
  path: 'deploy',
  revision: 'main',
  credentials: undefined,
  namespace: 'shop',
  namespaces: [],
  prune: true,
  selfHeal: true,
  file: noAgentFile,
};

let hub: HubStore;
let noted: string[];

beforeEach(() => {
  hub = new HubStore({ clock: systemClock, random: systemRandom });
  for (const object of hubObjects(plan, '0123456789abcdef')) hub.create(object);
  noted = [];
  followRevision(hub, 'shop', (revision) => noted.push(revision));
});

function update(change: JsonObject): void {
  const found = hub.get('argoproj.io', 'Application', agentNamespace, 'shop')!;
  hub.update({ ...found, ...change });
}

const shown = (status: string, revision: string): JsonObject => ({ sync: { status, revision } });
const running = (phase: string, revision: string): JsonObject => ({
  phase,
  startedAt: '2026-01-01T00:00:00Z',
  operation: { sync: { revision } },
});

describe('the commit in force', () => {
  it('is that of a requested or running operation, else the one that was compared', () => {
    update({ status: shown('OutOfSync', first) });
    update({ operation: { sync: { revision: second } } });
    update({
      operation: undefined,
      status: { ...shown('OutOfSync', first), operationState: running('Running', third) },
    });
    update({ status: { ...shown('Synced', first), operationState: running('Succeeded', third) } });
    expect(noted).toEqual([first, second, third, first]);
  });

  it.each([
    ['an unknown comparison', { status: shown('Unknown', first) }],
    ['a branch', { operation: { sync: { revision: 'main' } } }],
    ['no revision', { operation: { sync: {} } }],
  ])('is not told by %s', (_what, change) => {
    update(change);
    expect(noted).toEqual([]);
  });
});

describe('the Application of a restarted agent', () => {
  it('was compared with the kept commit of its source, with an unknown result', () => {
    const objects = hubObjects(plan, '0123456789abcdef').map((object) => asComparedWith(object, first));
    expect(objects.slice(0, -1)).toEqual(hubObjects(plan, '0123456789abcdef').slice(0, -1));
    const { spec, status } = objects.at(-1) as unknown as { spec: JsonObject; status: JsonObject };
    const { source, destination } = spec;
    expect(status).toEqual({ sync: { status: 'OutOfSync', revision: first, comparedTo: { source, destination } } });
  });
});

describe('the id of a source', () => {
  it('differs by mark, repository, path, namespace and what is followed', () => {
    const ids = [
      sourceIdOf('m', binding, ['main', '', '']),
      sourceIdOf('n', binding, ['main', '', '']),
      sourceIdOf('m', bindingOf('https://git/other', 'deploy', 'shop'), ['main', '', '']),
      sourceIdOf('m', bindingOf('https://git/shop', 'other', 'shop'), ['main', '', '']),
      sourceIdOf('m', bindingOf('https://git/shop', 'deploy', 'other'), ['main', '', '']),
      sourceIdOf('m', binding, ['v1', '', '']),
      sourceIdOf('m', binding, ['main', 'https://archive', '']),
      sourceIdOf('m', binding, ['main', '', 'sha256:1']),
    ];
    expect(new Set(ids).size).toBe(ids.length);
    expect(sourceIdOf('m', { ...binding }, ['main', '', ''])).toBe(ids[0]);
  });
});
