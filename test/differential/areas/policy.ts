import { compileGlob, isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { isRefused, readSourceAddress } from '#model';
import type { AppProject, Cluster } from '#model';
import { canSync, isDestinationPermitted, isGroupKindPermitted, isSourcePermitted } from '#policy';
import type { PermittedDestination } from '#policy';
import { nextActivation, parseCron } from '../../../policy/testing/index.ts';
import { failureOf } from '../area.ts';
import type { Area, Verdict } from '../area.ts';
import type { Draw } from '../draw.ts';
import type { OracleAnswer } from '../oracle.ts';

const rows = {
  address: 'addresses of sources that programs read differently',
  denyGlob: 'a deny entry of destinations, source repositories or kinds that is no glob (`![a`)',
  deniedName: 'a denied name of a cluster in `destinations`, with a namespace (`name: "!prod"`, `namespace: x`)',
  schema: 'an AppProject that its schema would not let pass (texts for lists, numbers for texts)',
  neverFires: 'an allow window whose schedule never fires (30 February)',
  overlapping: 'globs whose fixed ends overlap (`a*a` on `a`)',
  window: 'a sync window with an unknown `kind` (`dney`), or a pattern that is no glob',
  skippedDay: 'a schedule in a zone that skipped a whole day',
} as const;

const servers = ['https://kubernetes.default.svc', 'https://prod.example.com', 'https://dev.example.com:6443'];
const names = ['in-cluster', 'prod', 'dev', 'prod-eu', ''];
const namespaces = ['default', 'team-a', 'team-b', 'kube-system', ''];
const repos = [
  ...['https://git.example.com/team/app', 'https://git.example.com/team/app.git', 'git@git.example.com:team/app.git'],
  ...[
    'ssh://git@git.example.com/team/app',
    'https://GIT.example.com/Team/App',
    'https://charts.example.com',
    'oci://r.example.com/a/b',
  ],
  ...[
    'https://git.example.com/team-b/app',
    'https://user@git.example.com/team/app',
    'https://git.example.com/team/app/',
  ],
];
const kinds: readonly (readonly [group: string, kind: string])[] = [
  ...([
    ['', 'ConfigMap'],
    ['apps', 'Deployment'],
    ['', 'Namespace'],
    ['rbac.authorization.k8s.io', 'ClusterRole'],
  ] as const),
  ...([
    ['example.com', 'Widget'],
    ['', 'Secret'],
  ] as const),
];

/** A text as it is, or as a pattern that may match it. */
function pattern(text: string, draw: Draw): string {
  const glob = draw.pick([
    ...[text, text, '*', `${text.slice(0, 4)}*`, `*${text.slice(-3)}`, text.replace('example', '*'), `{${text},x}`],
    ...[
      text.replace(/e/, '?'),
      text.replace(/\/[^/]*$/, '/*'),
      text.replace(/\/[^/]*\/[^/]*$/, '/**'),
      `[a-z]${text.slice(1)}`,
      '',
    ],
  ]);
  return draw.chance(0.25) ? `!${glob}` : draw.chance(0.02) ? draw.pick(['[', '![a', '{a', '!{a', '\\', 'a\\']) : glob;
}

function kindList(draw: Draw): Json | undefined {
  if (draw.chance(0.4)) return undefined;
  return draw.some([0, 3], (): JsonObject => {
    const [group, kind] = draw.pick(kinds);
    const part = (text: string): string =>
      draw.pick([text, text, '*', `${text.slice(0, 2)}*`, text.toLowerCase(), '[A-Z]*', '']);
    return { group: part(group), kind: part(kind), ...(draw.chance(0.2) ? { name: part('admin') } : {}) };
  });
}

function projectCase(draw: Draw): Json {
  const lists = [
    'clusterResourceWhitelist',
    'clusterResourceBlacklist',
    'namespaceResourceWhitelist',
    'namespaceResourceBlacklist',
  ];
  const spec: Record<string, Json> = {
    sourceRepos: draw.some([0, 3], () => pattern(draw.pick(repos), draw)),
    destinations: draw.some([0, 3], (): JsonObject => ({
      ...(draw.chance(0.7) ? { server: pattern(draw.pick(servers), draw) } : {}),
      ...(draw.chance(0.4) ? { name: pattern(draw.pick(names), draw) } : {}),
      ...(draw.chance(0.8) ? { namespace: pattern(draw.pick(namespaces), draw) } : {}),
    })),
  };
  for (const list of lists) {
    const entries = kindList(draw);
    if (entries !== undefined) spec[list] = entries;
  }
  if (draw.chance(0.2)) spec['permitOnlyProjectScopedClusters'] = draw.chance(0.8);
  const [group, kind] = draw.pick(kinds);
  return {
    project: { metadata: { name: 'p' }, spec },
    source: draw.pick(repos),
    cluster: { server: draw.pick(servers), name: draw.pick(names) },
    namespace: draw.pick(namespaces),
    scoped: draw.some([0, 2], () => ({ server: draw.pick(servers), name: draw.pick(names) })),
    ...{ group, kind, name: draw.pick(['admin', 'x', '']), namespaced: draw.chance(0.5) },
  };
}

interface ProjectInput {
  readonly project: AppProject;
  readonly source: string;
  readonly cluster?: { readonly server: string; readonly name: string };
  readonly namespace?: string;
  readonly scoped: readonly Pick<Cluster, 'server' | 'name'>[];
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly namespaced: boolean;
}

function judgeProject(input: Json, answer: OracleAnswer): Verdict {
  const given = input as unknown as ProjectInput;
  const address = readSourceAddress({ repoURL: given.source });
  // The original reads an absent field of a shrunk case as empty.
  const { cluster, namespace = '' } = given;
  const place: PermittedDestination = { ...{ name: '', server: '' }, ...cluster, namespace };
  return {
    ours: {
      source: !isRefused(address) && isSourcePermitted(given.project, address),
      destination: isDestinationPermitted(given.project, place, given.scoped),
      kind: isGroupKindPermitted(given.project, given, given.namespaced),
    },
    theirs: failureOf(answer),
  };
}

/** A destination that denies by one pattern, and has another that is no glob. */
function isUnreadableDeny(item: object): boolean {
  const patterns = Object.values(item).map(String);
  const isGlob = (text: string): boolean => compileGlob(text.replace(/^!/, '')) !== undefined;
  return patterns.some((text) => text.startsWith('!')) && !patterns.every(isGlob);
}

function explainProject(input: Json, { ours, theirs }: Verdict): string | undefined {
  const { project } = input as unknown as ProjectInput;
  if (!isObject(ours) || !isObject(theirs)) return undefined;
  const texts = JSON.stringify(project.spec).match(/"(?:[^"\\]|\\.)*"/g) ?? [];
  const patterns = texts.map((text) => JSON.parse(text) as string);
  if (patterns.some((text) => text.startsWith('!') && compileGlob(text.slice(1)) === undefined)) return rows.denyGlob;
  if (ours['destination'] === false && (project.spec.destinations ?? []).some(isUnreadableDeny)) return rows.denyGlob;
  const denied = (project.spec.destinations ?? []).some(
    ({ name = '', namespace = '' }) => name.startsWith('!') && namespace !== '*',
  );
  if (ours['destination'] !== theirs['destination'] && denied) return rows.deniedName;
  const isNamed = [project.spec.namespaceResourceWhitelist ?? [], project.spec.namespaceResourceBlacklist ?? []]
    .flat()
    .some(({ name = '' }) => name !== '');
  if (ours['kind'] === false && theirs['kind'] === true && isNamed) return rows.schema;
  if (ours['destination'] !== theirs['destination'] || ours['kind'] !== theirs['kind']) return undefined;
  return rows.address;
}

export const projectArea: Area = {
  name: 'project',
  generate: projectCase,
  judge: judgeProject,
  explain: explainProject,
};

const zones = [
  '',
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kolkata',
  'Pacific/Chatham',
  'Mars/Base',
  'utc',
  'Asia/Kathmandu',
];

function cronField([min, max]: readonly [number, number], draw: Draw): string {
  const number = (): number => (draw.chance(0.97) ? min + draw.below(max - min + 1) : max + 1);
  return draw.pick([
    ...['*', '*', '*', '?', String(number()), String(number()), `*/${1 + draw.below(max)}`, `${number()}-${number()}`],
    ...[
      `${number()},${number()}`,
      `${number()}/${1 + draw.below(9)}`,
      `${min}-${max}/${1 + draw.below(5)}`,
      `${number()},*`,
    ],
  ]);
}

function schedule(draw: Draw): string {
  const fields = [
    ...[cronField([0, 59], draw), cronField([0, 23], draw), cronField([1, 31], draw)],
    ...[draw.chance(0.8) ? cronField([1, 12], draw) : draw.pick(['jan', 'FEB', 'mar-jun', 'Dec'])],
    ...[draw.chance(0.8) ? cronField([0, 6], draw) : draw.pick(['sun', 'MON-FRI', 'sat,sun', '7'])],
  ];
  const text = fields.join(' ');
  if (draw.chance(0.04))
    return draw.pick(['', '@daily', '* * * *', '* * * * * *', `${text} `, ` ${text}`, 'a b c d e', '30 3 30 2 *']);
  return draw.chance(0.1) ? `${draw.pick(['TZ', 'CRON_TZ'])}=${draw.pick(zones)} ${text}` : text;
}

function windowsCase(draw: Draw): Json {
  const duration = (): string =>
    draw.pick(['1h', '30m', '24h', '1h30m', '90s', '48h', '720h', '0s', '-1h', '1d', 'x', '8760h']);
  return {
    windows: draw.some([1, 3], (): JsonObject => ({
      kind: draw.chance(0.98) ? draw.pick(['allow', 'deny']) : draw.pick(['dney', '']),
      schedule: draw.chance(0.3) ? '* * * * *' : schedule(draw),
      duration: duration(),
      ...(draw.chance(0.7) ? { applications: draw.some([0, 2], () => windowPattern('web', draw)) } : {}),
      ...(draw.chance(0.4) ? { namespaces: draw.some([0, 2], () => windowPattern('team-a', draw)) } : {}),
      ...(draw.chance(0.4)
        ? { clusters: draw.some([0, 2], () => windowPattern(draw.pick(['prod', servers[1] ?? '']), draw)) }
        : {}),
      ...(draw.chance(0.4) ? { manualSync: draw.chance(0.5) } : {}),
      ...(draw.chance(0.3) ? { andOperator: draw.chance(0.7) } : {}),
      ...(draw.chance(0.3) ? { syncOverrun: draw.chance(0.7) } : {}),
      ...(draw.chance(0.5) ? { timeZone: draw.pick(zones) } : {}),
    })),
    name: draw.pick(['web', 'web', 'api']),
    destination: draw.pick([
      { server: servers[1] ?? '', namespace: 'team-a' },
      { name: 'prod', namespace: 'team-b' },
      { namespace: 'team-a' },
    ]),
    manual: draw.chance(0.5),
    startedBefore: draw.chance(0.5) ? -1 : draw.pick([60_000, 3_600_000, 36_000_000, 86_400_000]),
  };
}

function windowPattern(text: string, draw: Draw): string {
  return draw.pick([
    text,
    '*',
    `${text.slice(0, 2)}*`,
    `${text}x`,
    `{${text},y}`,
    `!${text}`,
    ...(draw.chance(0.05) ? ['['] : []),
  ]);
}

function judgeWindows(input: Json, answer: OracleAnswer): Verdict {
  const given = input as unknown as Parameters<typeof canSync>[1] & {
    readonly windows: Parameters<typeof canSync>[0];
    readonly manual: boolean;
    readonly startedBefore: number;
  };
  const theirs = failureOf(answer);
  const now = isObject(theirs) ? Number(theirs['now']) : 0;
  const { manual, startedBefore } = given;
  const trigger = startedBefore < 0 ? { manual } : { manual, startedAt: now - startedBefore };
  const { allowed, error } = canSync(given.windows, given, trigger, now);
  if (!isObject(theirs)) return { ours: { allowed }, theirs };
  return {
    ours: { allowed, hasError: error !== undefined },
    theirs: { allowed: theirs['allowed'] ?? null, hasError: theirs['error'] !== undefined },
  };
}

function explainWindows(input: Json, { ours, theirs }: Verdict): string | undefined {
  const { windows = [] } = input as unknown as Pick<AppProject['spec'], 'syncWindows'> & {
    readonly windows?: readonly { readonly kind?: string; readonly schedule?: string }[];
  };
  if (!isObject(ours) || !isObject(theirs) || ours['allowed'] === true) return undefined;
  const texts = JSON.stringify(windows).match(/"(?:[^"\\]|\\.)*"/g) ?? [];
  if (texts.some((text) => compileGlob(JSON.parse(text) as string) === undefined)) return rows.window;
  if (windows.some(({ kind }) => kind !== 'allow' && kind !== 'deny')) return rows.window;
  const isEmpty = windows.some(({ kind, schedule: text = '' }) => kind === 'allow' && neverFires(text));
  return isEmpty ? rows.neverFires : undefined;
}

function neverFires(text: string): boolean {
  const parsed = parseCron(text);
  return !('error' in parsed) && nextActivation(parsed, Date.UTC(2025, 0)) === undefined;
}

export const windowsArea: Area = {
  name: 'windows',
  generate: windowsCase,
  judge: judgeWindows,
  explain: explainWindows,
};

function cronCase(draw: Draw): Json {
  // Clock changes of the zones are within these years.
  return { schedule: schedule(draw), from: 1_600_000_000_000 + draw.below(400_000) * 1_000_000 + draw.below(1000) };
}

function judgeCron(input: Json, answer: OracleAnswer): Verdict {
  const { schedule: text, from } = input as unknown as { readonly schedule: string; readonly from: number };
  const parsed = parseCron(text);
  if ('error' in parsed)
    return { ours: { error: true }, theirs: answer.kind === 'error' ? { error: true } : failureOf(answer) };
  const next = nextActivation(parsed, from);
  return {
    ours: next === undefined ? { never: true } : { next },
    theirs: answer.kind === 'error' ? { error: true } : failureOf(answer),
  };
}

export const cronArea: Area = { name: 'cron', generate: cronCase, judge: judgeCron, explain: () => undefined };
