import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { Json } from '#base';
import { root } from '../root.ts';
import { filesOf, itemKinds, manifestOf } from './content.ts';
import { knownDifferences, withRows } from './known.ts';
import { differencesOf, normalOf } from './normal.ts';
import { planOf } from './plan.ts';
import type { Act, DifferentialPlan } from './plan.ts';
import type { PlayOutcome } from './play.ts';
import { compareReadings } from './reading.ts';
import type { AppReading, WorldDifference } from './reading.ts';
import { findingText, tableOf } from './report.ts';
import { aloneWith, shrinkPlan } from './shrink.ts';

describe('a plan', () => {
  it('is the same for equal seeds, and another for others', () => {
    expect(planOf(7, 6)).toEqual(planOf(7, 6));
    expect(planOf(8, 6)).not.toEqual(planOf(7, 6));
  });

  it('is plain data, so that a kept one can be played again', () => {
    for (let seed = 1; seed <= 50; seed += 1)
      expect(JSON.parse(JSON.stringify(planOf(seed, 8)))).toEqual(planOf(seed, 8));
  });

  it('has every act, source and kind within fifty seeds', () => {
    const plans = Array.from({ length: 50 }, (_, seed) => planOf(seed, 8));
    const acts = new Set(plans.flatMap((plan) => plan.acts.map((act) => act.do)));
    expect([...acts].sort()).toEqual(
      ['delete', 'edit', 'push', 'refresh', 'rollback', 'settings', 'spec', 'sync', 'terminate'].sort(),
    );
    const apps = plans.flatMap((plan) => plan.apps);
    expect(new Set(apps.map(({ source }) => source)).size).toBe(4);
    expect(new Set(apps.flatMap(({ items }) => items.map(({ kind }) => kind))).size).toBe(itemKinds.length);
  });
});

describe('the content of the repository', () => {
  it.each(itemKinds)('has another %s in each state that is not its first', (kind) => {
    const item = (state: 'blue' | 'red' | 'refused'): Json => manifestOf({ kind, name: 'x', state });
    expect(item('red')).not.toEqual(item('blue'));
    expect(item('refused')).not.toEqual(item('blue'));
  });

  it('is a folder for each type of source', () => {
    const names = (['folder', 'kustomize', 'helm', 'jsonnet'] as const).map((type) => Object.keys(filesOf(type, [])));
    expect(names).toEqual([
      ['README.md', 'all.yaml'],
      ['README.md', 'all.yaml', 'kustomization.yaml'],
      ['README.md', 'Chart.yaml', 'values.yaml', 'templates/all.yaml'],
      ['README.md', 'all.jsonnet'],
    ]);
  });
});

describe('a comparison', () => {
  it('ignores times, addresses and names that are random', () => {
    const at = (time: string, port: number): Json => ({
      metadata: { uid: time, resourceVersion: String(port) },
      message: `http://127.0.0.1:${port} at ${time}`,
    });
    expect(normalOf(at('2026-01-01T00:00:00Z', 80))).toEqual(normalOf(at('2026-02-01T00:00:00.123Z', 8080)));
  });

  it('shows each differing member by its path', () => {
    expect(differencesOf({ a: [1, { b: 2 }], c: 3 }, { a: [1, { b: 4 }] })).toEqual([
      { path: '/a/1/b', theirs: 2, ours: 4 },
      { path: '/c', theirs: 3, ours: undefined },
    ]);
  });

  it('is made for each Application and area', () => {
    const reading = (message: string): AppReading => ({
      objects: {},
      application: {},
      status: {},
      operation: { message },
      conditions: [],
      resources: {},
      events: [],
    });
    const sides = [new Map([['a', reading('x')]]), new Map([['a', reading('y')]])] as const;
    expect(compareReadings(...sides)).toEqual([
      { app: 'a', area: 'operation', path: '/message', theirs: 'x', ours: 'y' },
    ]);
  });
});

function rowFor(
  ...differences: readonly (Partial<WorldDifference> & Pick<WorldDifference, 'area' | 'path'>)[]
): unknown {
  return withRows(differences.map((each) => ({ app: 'a', theirs: undefined, ours: undefined, ...each })))[0]?.row;
}

describe('known differences', () => {
  it('name rows of the page about compatibility', () => {
    const page = readFileSync(new URL('docs/compatibility.md', root), 'utf8');
    for (const { row } of knownDifferences) expect(page).toContain(`\n| ${row} |`);
  });

  it('explain remarks of kubectl, and no other message', () => {
    const path = '/syncResult/resources/Role x Sync/message';
    const created = 'role.rbac.authorization.k8s.io/x';
    const theirs = `${created} reconciled. reconciliation required create\n\tmissing rules added:\n\t\t{}${created} configured. Warning: resource roles/x is missing the y annotation. The missing annotation will be patched automatically.`;
    expect(rowFor({ area: 'operation', path, theirs, ours: `${created} created` })).toBe(
      'the message of an applied resource',
    );
    expect(rowFor({ area: 'operation', path, theirs, ours: `${created} pruned` })).toBeUndefined();
    const patch = 'error when patching "/dev/shm/123": no';
    expect(rowFor({ area: 'operation', path, theirs: patch, ours: 'no' })).toBe('the message of an applied resource');
    expect(rowFor({ area: 'operation', path, theirs: patch, ours: 'yes' })).toBeUndefined();
  });

  it('explain an automated sync of ours after a selected one, and none after a whole one', () => {
    const automated = { area: 'operation', path: '/operation/initiatedBy/automated', ours: true } as const;
    const selected = { area: 'operation', path: '/operation/sync/resources', theirs: [] } as const;
    expect(rowFor(automated, selected)).toBe('automated sync after a dry run, or after a sync of selected resources');
    expect(rowFor(automated)).toBeUndefined();
  });

  it('explain a condition of our own beside those of Argo CD', () => {
    const theirs: Json = [{ type: 'ComparisonError', message: 'x' }];
    const own: Json = { type: 'SourceUnavailableWarning', message: 'y' };
    const rowOf = (ours: Json): unknown => rowFor({ area: 'conditions', path: '', theirs, ours });
    expect(rowOf([...theirs, own])).toBe('self-heal while a source cannot be read');
    expect(rowOf([own])).toBeUndefined();
  });

  it('explain one more sync by Argo CD only if all else is equal', () => {
    const again = { area: 'operation', path: '/operation/sync/resources', theirs: [] } as const;
    expect(rowFor(again)).toBe('the end of a sync');
    expect(rowFor(again, { area: 'objects', path: '/ConfigMap x', theirs: {} })).toBeUndefined();
    expect(rowFor({ ...again, theirs: undefined, ours: [] })).toBeUndefined();
  });
});

/** A play that differs if an Application has a push and a sync in this order. */
function play(plan: DifferentialPlan): Promise<PlayOutcome> {
  const findings = plan.apps.flatMap((_app, app) => {
    const own = plan.acts.flatMap((act, index) => ('app' in act && act.app === app ? [{ act, index }] : []));
    const push = own.find(({ act }) => act.do === 'push');
    const sync = own.find(({ act, index }) => act.do === 'sync' && push !== undefined && index > push.index);
    const difference = { app: 'a', area: 'operation', path: '/message', theirs: 'x', ours: 'y' } as const;
    return sync === undefined ? [] : [{ act: sync.index, app, differences: [difference], objects: [] }];
  });
  return Promise.resolve({ findings, known: new Map([['hooks', 2]]), acts: plan.acts.length });
}

describe('a script that differs', () => {
  const whole = planOf(3, 6);
  const mixed: readonly Act[] = [
    { do: 'refresh', app: 1, hard: true },
    { do: 'push', app: 2, item: 0, to: 'red' },
    { do: 'push', app: 1, item: 0, to: 'red' },
    { do: 'settings', name: 'label tracking' },
    { do: 'terminate', app: 1 },
    { do: 'sync', app: 1, with: {} },
    { do: 'refresh', app: 1, hard: false },
  ];
  const plan = { ...whole, acts: mixed };

  it('is cut to the acts and the Application that it needs', async () => {
    const [finding] = (await play(plan)).findings;
    if (finding === undefined) throw new Error('it does not differ');
    expect(aloneWith(plan, finding).apps).toEqual([whole.apps[1]]);
    const shrunk = await shrinkPlan(plan, finding, { maxPlays: 30, play });
    expect(shrunk?.plan.acts).toEqual([
      { do: 'push', app: 0, item: 0, to: 'red' },
      { do: 'sync', app: 0, with: {} },
    ]);
    const never = (): Promise<PlayOutcome> => Promise.resolve({ findings: [], known: new Map(), acts: 0 });
    expect(await shrinkPlan(plan, finding, { maxPlays: 30, play: never })).toBeUndefined();
  });

  it('is printed with its steps and its differences, and counted by area', async () => {
    const { findings, known, acts } = await play(plan);
    const [finding] = findings;
    if (finding === undefined) throw new Error('it does not differ');
    const text = findingText(plan, finding);
    expect(text).toContain('argocd-cm: switch "label tracking"');
    expect(text).toContain('operation /message\n      Argo CD: "x"\n      ours:    "y"');
    expect(text).not.toContain('a2: push');
    const table = tableOf([{ seed: 3, apps: 6, acts, seconds: 1, findings, known: [...known] }]);
    expect(table).toContain('differential: 1 scripts, 7 acts, 1 scripts with unknown differences');
    expect(table).toContain('| operation | 1 |');
    expect(table).toContain('2 by the row "hooks"');
  });
});
