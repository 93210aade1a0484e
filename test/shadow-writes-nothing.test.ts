import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

/**
 * The static proof that `run --shadow` has no write path: from its composition root all imports are followed, name by name through the public interfaces
 * of the modules (an index names everything, but only what is asked for by name is used), and none may lead to a module that writes.
 */
const root = 'cli/assemble-shadow.ts';

/** What writes, or hands out the right to. With the reason, so that nobody takes a line away for convenience. */
const writers: Readonly<Record<string, string>> = {
  'cli/assemble.ts': 'puts the controller in charge together',
  'controller/create-controller.ts': 'puts the controller in charge together',
  'controller/cluster-labels.ts': 'labels Secrets of clusters',
  'controller/syncer.ts': 'runs operations',
  'controller/deletion.ts': 'deletes managed objects, takes finalizers off',
  'controller/events.ts': 'creates Events',
  'controller/migration.ts': 'changes who owns fields of managed objects, through the writer',
  'controller/operation.ts': 'runs operations',
  'controller/project-finalizers.ts': 'takes finalizers off AppProjects',
  'controller/refresh-writes.ts': 'publishes, writes status and finalizers, starts automated syncs',
  'controller/application-store.ts': 'the only writer of Applications',
  'controller/server-side-diff.ts':
    'asks API servers by PATCH what an apply would change: dry runs, which write nothing, but whoever only reads does not send one',
  'controller/unowned.ts': 'marks Applications',
  'controller/writer.ts': 'the only writer of managed clusters',
  'publish/memory.ts': 'what others read instead of Argo CD',
  'publish/redis/connection.ts': 'the only writer of Redis',
  'publish/redis/publisher.ts': 'what clients of Argo CD read',
  'sharding/coordinator.ts': 'writes ConfigMaps of the hub',
  'sharding/member.ts': 'holds leases',
  'sharding/tenure.ts': 'holds leases',
  'sharding/intents.ts': 'decides about writes to the hub',
  'sharding/ownership.ts': 'gives the right to write',
  'sync/run.ts': 'steps of operations',
  'sync/step.ts': 'steps of operations',
};

/** A call of a client's method that writes, or of one that makes it act as somebody: the last two are names of strings and maps, too. */
const writing = /\.(?:create|patch|impersonate)\(|\.(?:replace|delete)\(\s*(?:\w*[rR]esource\b|this\.)/;

interface Import {
  readonly from: string;
  /** Undefined: all of it. */
  readonly names: readonly string[] | undefined;
}

const statement =
  /^(?:import|export)\s+(?<type>type\s+)?(?:(?<what>[^'";]*?)\s+from\s+)?'(?<from>[^']+)'|\bimport\('(?<late>[^']+)'\)/gm;

/** The imports of a module that exist when it runs. */
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

/** The modules behind a door that give these names. */
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

/** Every module that is reached, with the one that leads to it. */
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

describe('8.2.2: the imports of run --shadow', () => {
  const reached = walk(root);

  it('lead to no module that writes', () => {
    const found = [...reached.keys()].filter((path) => path in writers).map((path) => wayTo(path, reached));
    expect(found).toEqual([]);
  });

  it('lead to everything that compares', () => {
    const wanted = ['refresh', 'comparer', 'autosync', 'triggers', 'projects', 'judge', 'ledger', 'shadow'];
    expect(wanted.filter((name) => !reached.has(`controller/${name}.ts`))).toEqual([]);
    expect([...reached.keys()]).toEqual(
      expect.arrayContaining([
        'compare/comparison.ts',
        'live/live-clusters.ts',
        'sharding/static-ownership.ts',
        'kube/transport.ts',
      ]),
    );
  });

  it('lead to no call of a method that writes', () => {
    expect([...reached.keys()].filter((path) => writing.test(readFileSync(path, 'utf8')))).toEqual([]);
  });

  it('make clients in one place only, which makes them read-only', () => {
    const makes = /createKubeClient\([\s\S]*?\n {4}\}\)/g;
    const made = [...reached.keys()]
      .filter((path) => path.startsWith('cli/') || path.startsWith('controller/'))
      .flatMap((path) => [...readFileSync(path, 'utf8').matchAll(makes)].map(([text]) => [path, text] as const));
    expect(made).toEqual([['cli/groundwork.ts', expect.stringContaining('readOnly: config.shadow,')]]);
  });

  it('name only modules that are there', () => {
    expect([...Object.keys(writers), root].filter((path) => !existsSync(path))).toEqual([]);
  });

  it('are followed: from the controller in charge the same walk leads to every writer', () => {
    const all = walk('cli/assemble.ts');
    expect(Object.keys(writers).filter((path) => !all.has(path))).toEqual([]);
    const calling = [...all.keys()].filter((path) => writing.test(readFileSync(path, 'utf8')));
    expect(calling).toEqual(
      expect.arrayContaining(['controller/application-store.ts', 'controller/events.ts', 'controller/writer.ts']),
    );
  });
});
