import { systemClock } from '#base';
import { eventually } from '#support';
import { applicationSet, deployment, endlessHook, invalid, secret, service, settings } from './manifests.ts';
import { inCluster } from './stage.ts';
import type { Stage } from './stage.ts';
import { normalised } from './transcript.ts';
import { slowWaves } from './waves.ts';
import type { CommandOutcome } from './world.ts';

/** A part of the scenario. Step names are unique within it. */
export interface CliAct {
  readonly name: string;
  readonly play: (stage: Stage) => Promise<void>;
}

async function administration(stage: Stage): Promise<void> {
  const { address } = stage.world;
  await stage.say('login', ['login', address, '--username', 'admin', '--password', 'password']);
  await stage.read('account', ['account', 'get-user-info']);
  const grants = ['--allow-cluster-resource', '*/*', '--orphaned-resources', '--orphaned-resources-warn'];
  await stage.say('proj create', ['proj', 'create', 'team', '-d', `${inCluster},*`, '-s', '*', ...grants]);
  await stage.read('proj list', ['proj', 'list']);
  await stage.say('proj add-destination', ['proj', 'add-destination', 'team', inCluster, 'elsewhere']);
  const window = ['--kind', 'deny', '--schedule', '0 0 1 1 *', '--duration', '1h', '--applications', 'none'];
  await stage.say('proj windows add', ['proj', 'windows', 'add', 'team', ...window]);
  await stage.read('proj windows list', ['proj', 'windows', 'list', 'team']);
  await stage.say('proj windows delete', ['proj', 'windows', 'delete', 'team', '0']);
  await stage.read('proj get', ['proj', 'get', 'team']);
}

async function firstSync(stage: Stage): Promise<void> {
  stage.repository('guestbook').commit({
    'app/web.yaml': deployment('web', 1),
    'app/service.yaml': service,
    'app/settings.yaml': settings('settings', 'blue'),
    'app/old.yaml': settings('old', 'grey'),
    'app/token.yaml': secret,
  });
  await stage.createApp('guestbook');
  await stage.compared('guestbook');
  await stage.read('app list, before', ['app', 'list']);
  await stage.read('app get, before', ['app', 'get', 'guestbook']);
  await stage.read('app diff, before', ['app', 'diff', 'guestbook']);
  await stage.read('app manifests', ['app', 'manifests', 'guestbook']);
  await stage.conclude('app sync --dry-run', ['app', 'sync', 'guestbook', '--dry-run']);
  await stage.conclude('app sync', ['app', 'sync', 'guestbook']);
  await stage.conclude('app wait', ['app', 'wait', 'guestbook', '--timeout', '90']);
  await stage.good('guestbook');
  await stage.read('app get, after', ['app', 'get', 'guestbook', '--show-operation']);
  await stage.read('app get -o tree', ['app', 'get', 'guestbook', '-o', 'tree']);
  await stage.read('app resources', ['app', 'resources', 'guestbook']);
  await stage.read('app resources -o tree', ['app', 'resources', 'guestbook', '--output', 'tree']);
  await stage.read('app diff, after', ['app', 'diff', 'guestbook']);
  await stage.read('app history, one', ['app', 'history', 'guestbook']);
}

async function secondSync(stage: Stage): Promise<void> {
  stage.repository('guestbook').commit({
    'app/settings.yaml': settings('settings', 'green'),
    'app/web.yaml': deployment('web', 2),
    'app/old.yaml': null,
  });
  await stage.read('app get --refresh', ['app', 'get', 'guestbook', '--refresh']);
  await stage.read('app diff, second', ['app', 'diff', 'guestbook']);
  await stage.conclude('app sync without --prune', ['app', 'sync', 'guestbook']);
  await stage.conclude('app sync --prune', ['app', 'sync', 'guestbook', '--prune']);
  await stage.conclude('app wait, second', ['app', 'wait', 'guestbook', '--timeout', '90']);
  await stage.good('guestbook');
  await stage.read('app history, three', ['app', 'history', 'guestbook']);
  await stage.say('app set', ['app', 'set', 'guestbook', '--directory-recurse']);
  await stage.good('guestbook');
  await stage.read('app get, set', ['app', 'get', 'guestbook']);
  await stage.say('app unset', ['app', 'unset', 'guestbook', '--namesuffix']);
  await stage.conclude('app rollback', ['app', 'rollback', 'guestbook', '0', '--timeout', '90']);
  await stage.conclude('app wait --operation', ['app', 'wait', 'guestbook', '--operation', '--timeout', '90']);
  await stage.until('guestbook', ({ status }) => status?.health?.status === 'Healthy');
  await stage.read('app get, rolled back', ['app', 'get', 'guestbook', '--refresh']);
  await stage.conclude('app sync, again', ['app', 'sync', 'guestbook', '--prune', '--resource', ':ConfigMap:settings']);
  await stage.conclude('app sync --force', ['app', 'sync', 'guestbook', '--prune', '--force']);
  await stage.good('guestbook');
}

async function resources(stage: Stage): Promise<void> {
  const of = ['--kind', 'Deployment', '--resource-name', 'web'];
  // The API server lists them in any order.
  const sorted = ({ text }: CommandOutcome): string => normalised(text).split('\n').sort().join('\n');
  await stage.read('app actions list', ['app', 'actions', 'list', 'guestbook', ...of], sorted);
  await stage.say('app actions run', ['app', 'actions', 'run', 'guestbook', 'restart', ...of]);
  await stage.good('guestbook');
  const patch = ['--patch', '{"data":{"color":"red"}}', '--patch-type', 'application/merge-patch+json'];
  const map = ['--kind', 'ConfigMap', '--resource-name', 'settings'];
  await stage.say('app patch-resource', ['app', 'patch-resource', 'guestbook', ...map, ...patch]);
  await stage.until('guestbook', ({ status }) => status?.sync?.status === 'OutOfSync');
  await stage.read('app diff, drift', ['app', 'diff', 'guestbook']);
  await stage.say('app delete-resource', ['app', 'delete-resource', 'guestbook', ...map]);
  await stage.read('app get, missing', ['app', 'get', 'guestbook', '--refresh']);
  await stage.conclude('app sync, repaired', ['app', 'sync', 'guestbook']);
  await stage.good('guestbook');
}

/** Additional flags of `app sync`. */
const syncFlags: readonly (readonly string[])[] = [
  ['--apply-out-of-sync-only'],
  ['--strategy', 'apply'],
  ['--server-side'],
  ['--replace'],
  ['--info', 'reason=test'],
  ['--resource', '!apps:Deployment:web'],
  ['--label', 'app=none'],
  ['--dry-run', '--prune', '--force'],
  ['--retry-limit', '2', '--retry-backoff-duration', '1s'],
];

async function flags(stage: Stage): Promise<void> {
  for (const given of syncFlags) {
    await stage.conclude(`app sync ${given.join(' ')}`, ['app', 'sync', 'guestbook', ...given]);
    await stage.good('guestbook');
  }
  await stage.read('app get --hard-refresh', ['app', 'get', 'guestbook', '--hard-refresh']);
}

async function trouble(stage: Stage): Promise<void> {
  stage.repository('stuck').commit({ 'app/hook.yaml': endlessHook, 'app/settings.yaml': settings('settings', 'blue') });
  await stage.createApp('stuck');
  await stage.compared('stuck');
  await stage.say('app terminate-op, none', ['app', 'terminate-op', 'stuck']);
  await stage.say('app sync --async', ['app', 'sync', 'stuck', '--async']);
  await stage.until('stuck', ({ status }) =>
    (status?.operationState?.syncResult?.resources ?? []).some(({ name }) => name === 'wait'),
  );
  await stage.read('app get, running', ['app', 'get', 'stuck', '--show-operation']);
  await stage.say('app sync, another', ['app', 'sync', 'stuck', '--async']);
  await stage.say('app terminate-op', ['app', 'terminate-op', 'stuck']);
  await stage.until(
    'stuck',
    ({ operation, status }) => (operation ?? null) === null && status?.operationState?.finishedAt !== undefined,
  );
  await stage.read('app get, terminated', ['app', 'get', 'stuck', '--show-operation', '--refresh']);
  stage.repository('broken').commit({ 'app/a.yaml': settings('settings', 'blue'), 'app/b.yaml': invalid });
  await stage.createApp('broken');
  await stage.compared('broken');
  await stage.conclude('app sync, refused', ['app', 'sync', 'broken', '--retry-limit', '0']);
  await stage.read('app get, refused', ['app', 'get', 'broken', '--show-operation', '--refresh']);
  stage.repository('broken').commit({ 'app/c.yaml': 'kind: {' });
  await stage.read('app get, unreadable', ['app', 'get', 'broken', '--hard-refresh']);
}

async function webhook(stage: Stage): Promise<void> {
  const commit = stage.repository('guestbook').commit({ 'app/settings.yaml': settings('settings', 'yellow') });
  stage.note('webhook', `answer ${await stage.world.push('guestbook', commit)}`);
  // Much shorter than the resync period.
  const app = await stage.until('guestbook', ({ status }) => status?.sync?.revision === commit, 60_000);
  stage.note('webhook, then', String(app.status?.sync?.status));
  await stage.conclude('app sync, webhook', ['app', 'sync', 'guestbook']);
  await stage.good('guestbook');
  await stage.observe('notifications', () => Promise.resolve([...new Set(stage.world.notified)].sort().join('\n')));
}

async function clusters(stage: Stage): Promise<void> {
  // The number of Applications is published in the next interval.
  await eventually(async () => {
    const { text } = await stage.world.argocd(['cluster', 'get', inCluster]);
    if (!text.includes('applicationsCount: 3')) throw new Error(text);
  }, 60_000);
  await stage.read('cluster list', ['cluster', 'list']);
  for (const command of ['shards', 'stats']) {
    // Resources are counted at different times.
    const counts = async (): Promise<string> =>
      normalised((await stage.world.admin(['cluster', command])).text).replaceAll(/\b\d{2,}\b/g, '<count>');
    await stage.observe(`admin cluster ${command}`, counts);
  }
  // Counts are taken at different times.
  const counted = ({ code, text }: CommandOutcome): string =>
    `exit ${code ?? ''}\n${normalised(text.replaceAll(/(resourcesCount|apisCount): "?\d+"?/g, '$1: <count>'))}`;
  await stage.read('cluster get', ['cluster', 'get', inCluster], counted);
}

async function sets(stage: Stage): Promise<void> {
  const git = stage.repository('fleet');
  for (const name of ['one', 'two']) git.commit({ [`apps/${name}/settings.yaml`]: settings('settings', name) });
  const url = stage.world.url('fleet');
  const template = (labels: string, sync: string): string => `  template:
    metadata: { name: '{{.name}}', labels: { ${labels} } }
    spec:
      project: default
      source: { repoURL: ${url}, targetRevision: main, path: 'apps/{{.dir}}' }
      destination: { server: ${inCluster}, namespace: '{{.name}}' }
      syncPolicy: { ${sync} syncOptions: [CreateNamespace=true] }
`;
  const elements = (prefix: string): string =>
    `  - list: { elements: [{ name: ${prefix}-one, dir: one, stage: first }, { name: ${prefix}-two, dir: two, stage: second }] }\n`;
  const generators = '  goTemplate: true\n  generators:\n';
  const automated = 'automated: {},';
  await create(stage, 'listed', `${generators}${elements('listed')}${template('from: list', automated)}`);
  const directories = `  - git: { repoURL: ${url}, revision: main, directories: [{ path: apps/* }] }\n`;
  const named = template('from: git', automated)
    .replaceAll('{{.name}}', 'found-{{.path.basename}}')
    .replaceAll('{{.dir}}', '{{.path.basename}}');
  await create(stage, 'found', `${generators}${directories}${named}`);
  const rolling = `  strategy:
    type: RollingSync
    rollingSync:
      steps:
      - matchExpressions: [{ key: stage, operator: In, values: [first] }]
      - matchExpressions: [{ key: stage, operator: In, values: [second] }]
`;
  await create(stage, 'rolled', `${generators}${elements('rolled')}${rolling}${template("stage: '{{.stage}}'", '')}`);
  for (const set of ['listed', 'found', 'rolled']) for (const one of ['one', 'two']) await stage.good(`${set}-${one}`);
  await order(stage);
  await stage.read('app list, sets', ['app', 'list', '-l', 'from']);
  for (const set of ['listed', 'found']) await stage.read(`appset get ${set}`, ['appset', 'get', set]);
  await stage.read('appset list', ['appset', 'list']);
  for (const set of ['listed', 'found', 'rolled'])
    await stage.say(`appset delete ${set}`, ['appset', 'delete', set, '--yes']);
  for (const set of ['listed', 'found', 'rolled']) for (const one of ['one', 'two']) await stage.gone(`${set}-${one}`);
}

async function create(stage: Stage, name: string, spec: string): Promise<void> {
  const file = stage.world.file(`${name}.yaml`, applicationSet(name, spec));
  await stage.say(`appset create ${name}`, ['appset', 'create', file]);
}

/** The first sync of step two starts when step one is healthy; the last one may be a later sync. */
async function order(stage: Stage): Promise<void> {
  const times = await Promise.all(
    ['rolled-one', 'rolled-two'].map(async (name) => {
      const { status } = (await stage.until(name, () => true)) as {
        readonly status?: { readonly history?: readonly { readonly deployStartedAt?: string }[] };
      };
      return Date.parse(status?.history?.[0]?.deployStartedAt ?? '');
    }),
  );
  const [first = Number.NaN, second = Number.NaN] = times;
  stage.note('progressive sync', first <= second ? 'one, then two' : `${first}, ${second}`);
}

async function deletion(stage: Stage): Promise<void> {
  // Without --wait: it starts to watch after the request, and hangs if the Application is gone by
  // then.
  await stage.say('app delete', ['app', 'delete', 'stuck', '--yes']);
  await stage.gone('stuck');
  await stage.say('app delete --cascade=false', ['app', 'delete', 'broken', '--yes', '--cascade=false']);
  await stage.gone('broken');
  await stage.say('app delete guestbook', ['app', 'delete', 'guestbook', '--yes']);
  await stage.gone('guestbook');
  const left = await stage.world.hub.api.list<{ metadata: { name: string } }>(
    '/api/v1/namespaces/guestbook/configmaps',
  );
  stage.note(
    'left behind',
    left
      .map(({ metadata }) => metadata.name)
      .sort()
      .join(),
  );
  await stage.read('app get, gone', ['app', 'get', 'guestbook']);
  await stage.say('proj delete', ['proj', 'delete', 'team']);
}

/** All parts of the scenario, in order. */
export const acts: readonly CliAct[] = [
  { name: 'projects', play: administration },
  { name: 'the first sync', play: firstSync },
  { name: 'the second sync', play: secondSync },
  { name: 'resources', play: resources },
  { name: 'flags of a sync', play: flags },
  { name: 'trouble', play: trouble },
  { name: 'webhooks and notifications', play: webhook },
  { name: 'clusters', play: clusters },
  { name: 'ApplicationSets', play: sets },
  { name: 'slow waves', play: slowWaves },
  { name: 'deletion', play: deletion },
];

/** Plays all acts with the other world. An act that fails is recorded, and the next one starts. */
export async function play(stage: Stage): Promise<void> {
  for (const { name, play: body } of acts) {
    await stage.begin(name);
    const began = systemClock.monotonic();
    try {
      await body(stage);
    } catch (error) {
      stage.stop(name, error);
    }
    stage.took.set(name, systemClock.monotonic() - began);
  }
}
