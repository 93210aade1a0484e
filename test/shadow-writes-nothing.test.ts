import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

/**
 * Static proof that `run --shadow` has no write path: follows all imports from its composition
 * root, through public interfaces only for the imported names. None may lead to a module that
 * writes.
 */
const root = 'cli/run/assemble-shadow.ts';

/** Modules that write or grant the right to write, each with the reason why it must stay listed. */
const writers: Readonly<Record<string, string>> = {
  'cli/run/assemble.ts': 'puts the controller in charge together',
  'controller/assembly/create-controller.ts': 'puts the controller in charge together',
  'controller/clusters/cluster-labels.ts': 'labels Secrets of clusters',
  'controller/operation/syncer.ts': 'runs operations',
  'controller/operation/deletion.ts': 'deletes managed objects, takes finalizers off',
  'controller/application/events.ts': 'creates Events',
  'controller/write/migration.ts': 'changes who owns fields of managed objects, through the writer',
  'controller/operation/operation.ts': 'runs operations',
  'controller/application/project-finalizers.ts': 'takes finalizers off AppProjects',
  'controller/refresh/refresh-writes.ts': 'publishes, writes status and finalizers, starts automated syncs',
  'controller/application/application-store.ts': 'the only writer of Applications',
  'controller/comparison/server-side-diff.ts':
    'sends dry-run PATCH requests: they write nothing, but a read-only process must not send them',
  'controller/triggers/unowned.ts': 'marks Applications',
  'controller/write/writer.ts': 'the only writer of managed clusters',
  'publish/memory.ts': 'what others read instead of Argo CD',
  'publish/redis/connection.ts': 'the only writer of Redis',
  'publish/redis/publisher.ts': 'what clients of Argo CD read',
  'settings/settings-writer.ts': 'writes ConfigMap driftless-settings and Events',
  'sharding/ownership/coordinator.ts': 'writes ConfigMaps of the hub',
  'sharding/protocol/member.ts': 'holds leases',
  'sharding/protocol/lease-state.ts': 'holds leases',
  'sharding/protocol/intents.ts': 'decides about writes to the hub',
  'sharding/ownership/ownership.ts': 'gives the right to write',
  'sync/run.ts': 'steps of operations',
  'sync/step.ts': 'steps of operations',
};

/**
 * A call of a client method that writes or impersonates. Strings and Maps also have `replace` and
 * `delete`, hence their arguments.
 */
const writing = /\.(?:create|patch|impersonate)\(|\.(?:replace|delete)\(\s*(?:\w*[rR]esource\b|this\.)/;

interface Import {
  readonly from: string;
  /** Undefined if everything is imported. */
  readonly names: readonly string[] | undefined;
}

const statement =
  /^(?:import|export)\s+(?<type>type\s+)?(?:(?<what>[^'";]*?)\s+from\s+)?'(?<from>[^']+)'|\bimport\('(?<late>[^']+)'\)/gm;

/** The imports of a module that exist at run time. */
function importsOf(path: string): Import[] {
  const text = readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
  return [...text.matchAll(statement)].flatMap(({ groups = {} }): Import[] => {
    if (groups['late'] !== undefined) return [{ from: groups['late'], names: undefined }];
    if (groups['type'] !== undefined) return [];
    return [{ from: groups['from'] ?? '', names: namesOf(groups['what'] ?? '') }];
  });
}

function namesOf(clause: string): readonly string[] | undefined {
  const list = /^\{([\s\S]*)\}$/.exec(clause.trim())?.[1];
  if (list === undefined) return undefined;
  const names = list.split(',').map((name) => name.trim());
  return names
    .filter((name) => name !== '' && !name.startsWith('type '))
    .map((name) => name.split(/\s+as\s+/)[0] ?? '');
}

/** The modules behind a public interface that export these names. */
function behind(door: string, names: readonly string[] | undefined): string[] {
  const room = dirname(door);
  const exported = importsOf(door).map(({ from, names: given }) => ({ path: join(room, from), given }));
  if (names === undefined) return exported.map(({ path }) => path);
  return names.flatMap((name) => {
    const found = exported.filter(({ given }) => given === undefined || given.includes(name)).map(({ path }) => path);
    if (found.length === 0) throw new Error(`${door} does not export ${name}: this walk does not understand it`);
    return found;
  });
}

function targetsOf(path: string): string[] {
  return importsOf(path).flatMap(({ from, names }) => {
    if (from.startsWith('#')) return behind(`${from.slice(1)}/index.ts`, names);
    return from.startsWith('.') ? [join(dirname(path), from)] : [];
  });
}

/** Every reachable module, with its importer. */
function walk(start: string): ReadonlyMap<string, string> {
  const reached = new Map([[start, '']]);
  for (const path of reached.keys())
    for (const target of targetsOf(path)) if (!reached.has(target)) reached.set(target, path);
  return reached;
}

function wayTo(path: string, reached: ReadonlyMap<string, string>): string {
  const way = [path];
  for (let at = reached.get(path) ?? ''; at !== ''; at = reached.get(at) ?? '') way.unshift(at);
  return way.join(' -> ');
}

describe('the imports of run --shadow', () => {
  const reached = walk(root);

  it('lead to no module that writes', () => {
    const found = [...reached.keys()].filter((path) => path in writers).map((path) => wayTo(path, reached));
    expect(found).toEqual([]);
  });

  it('lead to everything that compares', () => {
    const wanted = [
      ...['refresh/refresh', 'comparison/comparer', 'application/autosync', 'triggers/triggers', 'admission/projects'],
      ...['shadow/judge', 'shadow/ledger', 'shadow/shadow'],
    ];
    expect(wanted.filter((name) => !reached.has(`controller/${name}.ts`))).toEqual([]);
    expect([...reached.keys()]).toEqual(
      expect.arrayContaining([
        'compare/comparison.ts',
        'live/live-clusters.ts',
        'sharding/ownership/static-ownership.ts',
        'kube/transport/transport.ts',
      ]),
    );
  });

  it('lead to no call of a method that writes', () => {
    expect([...reached.keys()].filter((path) => writing.test(readFileSync(path, 'utf8')))).toEqual([]);
  });

  it('create clients in one place only, which makes them read-only', () => {
    const makes = /createKubeClient\([\s\S]*?\n {4}\}\)/g;
    const made = [...reached.keys()]
      .filter((path) => path.startsWith('cli/') || path.startsWith('controller/'))
      .flatMap((path) => [...readFileSync(path, 'utf8').matchAll(makes)].map(([text]) => [path, text] as const));
    expect(made).toEqual([['cli/run/infrastructure.ts', expect.stringContaining('readOnly: config.shadow,')]]);
  });

  it('name only modules that exist', () => {
    expect([...Object.keys(writers), root].filter((path) => !existsSync(path))).toEqual([]);
  });

  it('lead to every writer if the walk starts at the controller in charge', () => {
    const all = walk('cli/run/assemble.ts');
    expect(Object.keys(writers).filter((path) => !all.has(path))).toEqual([]);
    const calling = [...all.keys()].filter((path) => writing.test(readFileSync(path, 'utf8')));
    expect(calling).toEqual(
      expect.arrayContaining([
        'controller/application/application-store.ts',
        'controller/application/events.ts',
        'controller/write/writer.ts',
      ]),
    );
  });
});
