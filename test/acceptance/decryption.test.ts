import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Application, KubeObject } from '#model';
import { eventually } from '#support';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

interface Recorded {
  readonly keys: Readonly<Record<'age' | 'otherAge', string>>;
  readonly files: readonly { readonly path: string; readonly encrypted: string }[];
}

const recorded = JSON.parse(readFileSync('desired/decrypt/testdata/sops-files.json', 'utf8')) as Recorded;
const secret = recorded.files.find(({ path }) => path === 'regex.yaml')?.encrypted ?? '';
const configMap = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n';
const password = 'p4ss: word #1';

let world: World;
let git: GitFixture;
let log: string[];
beforeEach(async () => {
  world = await World.start();
  world.log = log = [];
  git = world.repository('repo');
  git.commit({ 'app/a.yaml': configMap, 'app/secret.yaml': secret });
  project('team', 'sops-keys');
  keys('sops-keys', recorded.keys.age);
});
afterEach(() => world.close());

/** An AppProject that names a Secret, or changes it. */
function project(name: string, secretName: string | undefined): void {
  const reference = JSON.stringify({ provider: 'sops', secretRef: { name: secretName } });
  const object = {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'AppProject',
    metadata: {
      name,
      namespace: 'argocd',
      annotations: secretName === undefined ? {} : { 'driftless.io/decryption': reference },
    },
    spec: { sourceRepos: ['*'], destinations: [{ server: '*', namespace: '*' }] },
  };
  const before = world.hub.store.get('argoproj.io', 'AppProject', 'argocd', name);
  if (before === undefined) world.hub.store.create(object);
  else world.hub.store.update({ ...object, metadata: { ...before.metadata, ...object.metadata } });
}

function keys(name: string, text: string, type = 'driftless-decryption'): void {
  const object: KubeObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'argocd', labels: { 'argocd.argoproj.io/secret-type': type } },
    data: { 'age.agekey': Buffer.from(text).toString('base64') },
  };
  if (world.hub.store.get('', 'Secret', 'argocd', name) === undefined) world.hub.store.create(object);
  else world.hub.store.update(object);
}

const automated = { syncPolicy: { automated: {}, retry: { limit: 0 } } };
const start = (name: string, of = 'team'): void =>
  world.application(name, { ...git.source(), ...automated, project: of });
const liveDb = (): unknown => world.live('', 'Secret', 'db');
const conditionsOf = (app: Application | undefined): string => JSON.stringify(app?.status?.conditions ?? []);
const isSynced = (app: Application): void => expect(app.status?.sync?.status).toBe('Synced');

/** Everything that this process wrote, or publishes, besides the destination's objects. */
function shown(name: string, published: unknown): string {
  const files = readdirSync(world.root, { recursive: true, encoding: 'utf8' })
    .map((path) => join(world.root, path))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'));
  return [...log, JSON.stringify(world.app(name)), JSON.stringify(published), ...files].join('\n');
}

const forms = [password, Buffer.from(password).toString('base64'), recorded.keys.age];

describe('an Application whose project names decryption keys', () => {
  it('applies decrypted objects, and shows their values nowhere', async () => {
    const { publisher } = await world.replica();
    start('web');
    await world.until('web', isSynced);
    expect(JSON.stringify(liveDb())).toContain(Buffer.from(password).toString('base64'));
    const text = shown('web', [publisher.tree('web'), publisher.managedResources('web')]);
    for (const form of forms) expect(text.includes(form)).toBe(false);
  });

  it('names the file and the keys when none fits, applies nothing, and recovers with the key', async () => {
    keys('sops-keys', recorded.keys.otherAge);
    await world.replica();
    start('web');
    const app = await world.until('web', (found) => expect(conditionsOf(found)).toContain('ComparisonError'));
    expect(conditionsOf(app)).toMatch(
      /app\/secret\.yaml is encrypted by SOPS and cannot be decrypted: it is encrypted for the age key age1\w+, and Secret sops-keys has age1/,
    );
    expect(world.live('', 'ConfigMap', 'plain')).toBeUndefined();
    keys('sops-keys', `${recorded.keys.otherAge}\n${recorded.keys.age}\n`);
    await world.until('web', isSynced);
    expect(liveDb()).toMatchObject({ kind: 'Secret', metadata: { name: 'db' } });
  });

  it('keeps what is live when a key is removed from the Secret', async () => {
    await world.replica();
    start('web');
    await world.until('web', isSynced);
    const before = JSON.stringify(liveDb());
    keys('sops-keys', recorded.keys.otherAge);
    await eventually(() => {
      world.refresh('web');
      expect(conditionsOf(world.app('web'))).toContain('cannot be decrypted');
    }, 30_000);
    expect(JSON.stringify(liveDb())).toBe(before);
  });

  it('reads only a Secret with the label', async () => {
    keys('sops-keys', recorded.keys.age, 'repository');
    await world.replica();
    start('web');
    await world.until('web', (app) =>
      expect(conditionsOf(app)).toContain(
        'there is no Secret argocd/sops-keys with the label argocd.argoproj.io/secret-type: driftless-decryption',
      ),
    );
    expect(liveDb()).toBeUndefined();
  });
});

describe('an Application of another project', () => {
  it('is refused, without ciphertext in the cluster, until its project names the keys', async () => {
    project('other', undefined);
    await world.replica();
    start('theirs', 'other');
    await world.until('theirs', (app) =>
      expect(conditionsOf(app)).toMatch(/Secret \\"db\\" is encrypted by SOPS and not applied: no keys are configured/),
    );
    expect(world.live('', 'ConfigMap', 'plain')).toBeUndefined();
    expect(liveDb()).toBeUndefined();
    project('other', 'sops-keys');
    await world.until('theirs', isSynced);
    expect(JSON.stringify(liveDb())).not.toContain('ENC[');
  });
});
