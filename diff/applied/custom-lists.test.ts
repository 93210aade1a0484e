import { describe, expect, it } from '@jest/globals';
import { annotations, defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { diffObjects } from '../comparison/diff.ts';
import { readOpenApi } from '../field-ownership/open-api.ts';
import type { DiffRules } from '../ignore/diff-rules.ts';
import { managedEntry } from '../testing/managed-entry.ts';
import { clientSideApplyPatch } from './client-side-apply.ts';

const ours = 'argocd-controller';
const text = { type: 'string' };
const step = { type: 'object', properties: { name: text, weight: { type: 'integer', default: 1 }, note: text } };
const spec = {
  type: 'object',
  properties: {
    paused: { type: 'boolean' },
    mode: { type: 'string', default: 'on' },
    steps: { type: 'array', items: step },
  },
};
const schemas = readOpenApi({
  openapi: '3.0.0',
  components: {
    schemas: {
      'io.e.v1.Rollout': {
        type: 'object',
        'x-kubernetes-group-version-kind': [{ group: 'e.io', version: 'v1', kind: 'Rollout' }],
        properties: { spec },
      },
    },
  },
});
const bare: DiffRules = { settings: defaultSettings, ignoreDifferences: [] };
const published: DiffRules = { ...bare, schemas };
const replaced: DiffRules = { ...published, replace: true };

function rollout(content: object, ...managedFields: object[]): KubeObject {
  const owned = managedFields.length === 0 ? {} : { managedFields };
  const metadata = { name: 'a', namespace: 'apps', ...owned };
  return { apiVersion: 'e.io/v1', kind: 'Rollout', metadata, spec: content } as unknown as KubeObject;
}

const fields = { 'f:spec': { '.': {}, 'f:paused': {}, 'f:mode': {}, 'f:steps': {} } };
const stored = { paused: true, mode: 'on', steps: [{ name: 'a', weight: 1, note: 'x' }] };
const created = rollout(stored, managedEntry(ours, 'Update', fields));
const applied = rollout(stored, managedEntry(ours, 'Apply', fields));

describe('a member of an item in a list that is sent whole', () => {
  const dropped = rollout({ paused: true, mode: 'on', steps: [{ note: 'x' }] });

  it.each<[string, KubeObject, DiffRules]>([
    ['a replacement follows a replacement', created, replaced],
    ['a client-side apply follows a replacement', created, published],
    ['a client-side apply follows a replacement, without a schema', created, bare],
    ['a client-side apply follows a server-side apply', applied, published],
    ['a replacement follows a server-side apply', applied, replaced],
  ])('is removed when %s', (_what, live, rules) => {
    expect(diffObjects(dropped, live, rules).paths).toContain('/spec/steps/0/name');
  });

  it.each<[string, KubeObject, DiffRules]>([
    ['a replacement', created, replaced],
    ['a client-side apply', created, published],
    ['a client-side apply after a server-side apply', applied, published],
    ['a client-side apply after a server-side apply, without a schema', applied, bare],
  ])('is no removal if the server added it as a default: %s', (_what, live, rules) => {
    const kept = rollout({ paused: true, mode: 'on', steps: [{ name: 'a', note: 'x' }] });
    expect(diffObjects(kept, live, rules)).toMatchObject({ modified: false, paths: [] });
  });

  it('is removed when its last value differs from the default', () => {
    const live = rollout(
      { ...stored, steps: [{ name: 'a', weight: 7, note: 'x' }] },
      managedEntry(ours, 'Update', fields),
    );
    const target = rollout({ paused: true, mode: 'on', steps: [{ name: 'a', note: 'x' }] });
    expect(diffObjects(target, live, replaced).modified).toBe(true);
  });

  it('stays when another manager owns the list too', () => {
    const shared = rollout(stored, managedEntry(ours, 'Update', fields), managedEntry('x', 'Update', fields));
    expect(diffObjects(dropped, shared, replaced).modified).toBe(false);
  });
});

describe('the first client-side apply of a custom resource that we replaced before', () => {
  it('removes what Git drops, also without a schema, and so does the comparison', () => {
    const target = rollout({ mode: 'on', steps: stored.steps });
    expect(clientSideApplyPatch(target, created)?.body).toMatchObject({ spec: { paused: null } });
    for (const rules of [bare, published]) expect(diffObjects(target, created, rules).paths).toEqual(['/spec/paused']);
  });

  it('takes defaults for ours only until it has written its annotation', () => {
    const target = rollout({ paused: true, steps: stored.steps });
    expect(diffObjects(target, created, published).modified).toBe(false);
    expect(diffObjects(target, created, bare).paths).toEqual(['/spec/mode']);
    const notes = { [annotations.lastApplied]: JSON.stringify(target) };
    const noted = { 'f:metadata': { 'f:annotations': { [`f:${annotations.lastApplied}`]: {} } }, ...fields };
    const by = (manager: string): KubeObject => {
      const { metadata, ...rest } = rollout(stored, managedEntry(ours, 'Update', manager === ours ? noted : fields));
      return { ...rest, metadata: { ...metadata, annotations: notes } };
    };
    expect(diffObjects(target, by(ours), bare).modified).toBe(false);
    expect(diffObjects(target, by('kubectl-client-side-apply'), bare).paths).toEqual(['/spec/mode']);
  });

  it('leaves alone what another tool created', () => {
    const helm = rollout(stored, managedEntry('helm', 'Update', fields));
    expect(diffObjects(rollout({ mode: 'on', steps: stored.steps }), helm, bare).modified).toBe(false);
  });
});

describe('a null in a list of a custom resource', () => {
  const withNull = rollout({ steps: [{ name: 'a', note: null }, null] });

  it.each<[string, DiffRules]>([
    ['client-side', bare],
    ['server-side', { ...bare, serverSideApply: true }],
    ['by a replacement', replaced],
  ])('is no difference where live has none or the same, and one where live has a value, sent %s', (_how, rules) => {
    const modified = (...steps: readonly (object | null)[]): boolean =>
      diffObjects(withNull, rollout({ steps }), rules).modified;
    expect([modified({ name: 'a' }, null), modified({ name: 'a', note: null }, null)]).toEqual([false, false]);
    expect([modified({ name: 'a', note: 'x' }, null), modified({ name: 'b' }, null)]).toEqual([true, true]);
  });
});
