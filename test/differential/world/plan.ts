import type { Draw } from '../draw.ts';
import { drawOf } from '../draw.ts';
import type { JsonObject } from '#base';
import { itemKinds } from './content.ts';
import type { ItemPlan, ItemState, SourceType } from './content.ts';
import { settingsOf, settingsNames } from './settings.ts';
import type { SettingsName } from './settings.ts';

export interface AppPlan {
  /** Its objects have this prefix. */
  readonly name: string;
  readonly source: SourceType;
  /** Its own namespace, which a sync creates, instead of the shared one. */
  readonly hasOwnNamespace: boolean;
  readonly project: ProjectName;
  readonly automated?: { readonly prune: boolean; readonly selfHeal: boolean; readonly allowEmpty?: boolean };
  readonly syncOptions: readonly string[];
  readonly ignoreDifferences?: readonly JsonObject[];
  readonly retries: number;
  readonly finalizer: boolean;
  readonly items: readonly ItemPlan[];
}

/** AppProjects of a world: all allowed, rules that refuse some kinds, a window that denies. */
export type ProjectName = 'default' | 'rules' | 'window';

/** Members of an operation besides its sync. */
export interface SyncPlan {
  readonly prune?: boolean;
  readonly dryRun?: boolean;
  /** Selected items; default: all. */
  readonly items?: readonly number[];
  readonly syncOptions?: readonly string[];
  readonly strategy?: 'apply' | 'hook' | 'force';
}

export type Edit = 'set' | 'label' | 'extra' | 'delete' | 'keep' | 'last-applied';

/** An act of a person. `app` is an index of the plan's Applications. */
export type Act =
  | { readonly do: 'push'; readonly app: number; readonly item: number; readonly to: ItemState | 'absent' }
  | { readonly do: 'edit'; readonly app: number; readonly item: number; readonly how: Edit }
  | { readonly do: 'refresh'; readonly app: number; readonly hard: boolean }
  | { readonly do: 'sync'; readonly app: number; readonly with: SyncPlan }
  | { readonly do: 'rollback'; readonly app: number; readonly back: number; readonly prune: boolean }
  | { readonly do: 'terminate'; readonly app: number }
  | { readonly do: 'delete'; readonly app: number; readonly cascade: 'foreground' | 'background' | 'none' }
  | { readonly do: 'settings'; readonly name: SettingsName }
  | { readonly do: 'spec'; readonly app: number; readonly patch: JsonObject };

/** An installation and a script: plain data, so that it can be printed, cut and played again. */
export interface DifferentialPlan {
  readonly seed: number;
  readonly settings: readonly SettingsName[];
  readonly apps: readonly AppPlan[];
  readonly acts: readonly Act[];
}

const optionChoices = [
  'ServerSideApply=true',
  'Replace=true',
  'ApplyOutOfSyncOnly=true',
  'PruneLast=true',
  'RespectIgnoreDifferences=true',
  'Validate=false',
  'FailOnSharedResource=true',
  'PrunePropagationPolicy=background',
  'SkipDryRunOnMissingResource=true',
] as const;

const itemOptions = [
  'Prune=false',
  'Delete=false',
  'Replace=true',
  'ServerSideApply=true',
  'Force=true,Replace=true',
  'Validate=false',
  'PruneLast=true',
] as const;

const ignoreChoices: readonly JsonObject[] = [
  { group: 'apps', kind: 'Deployment', jsonPointers: ['/spec/replicas'] },
  { group: '', kind: 'ConfigMap', jsonPointers: ['/data/color'] },
  {
    group: 'apps',
    kind: '*',
    jqPathExpressions: ['.spec.template.spec.containers[] | select(.name == "main") | .image'],
  },
  { group: '*', kind: '*', managedFieldsManagers: ['editor'] },
  { group: 'example.com', kind: 'Widget', jsonPointers: ['/spec/parts'] },
];

/** A random installation and script; the same for equal seeds. */
export function planOf(seed: number, maxApps: number): DifferentialPlan {
  const draw = drawOf(seed, 'world', 0);
  const settings = settingsNames.filter(() => draw.chance(0.25));
  const apps = draw.some([Math.min(4, maxApps), maxApps], (i) => someApp(draw, i));
  const acts = draw.some([2 * apps.length, 4 * apps.length], () => someAct(draw, apps));
  return { seed, settings, apps, acts };
}

function someApp(draw: Draw, index: number): AppPlan {
  const automated = draw.maybe(0.6, () => ({
    prune: draw.chance(0.5),
    selfHeal: draw.chance(0.5),
    ...(draw.chance(0.3) ? { allowEmpty: true } : {}),
  }));
  const hasOwnNamespace = draw.chance(0.2);
  const ignoreDifferences = draw.maybe(0.3, () => draw.some([1, 2], () => draw.pick(ignoreChoices)));
  const retries = draw.chance(0.2) ? 1 : 0;
  return {
    name: `a${index}`,
    source: draw.pick(['folder', 'folder', 'kustomize', 'helm', 'jsonnet'] as const),
    hasOwnNamespace,
    project: draw.pick(['default', 'default', 'default', 'rules', 'window'] as const),
    ...(automated === undefined ? {} : { automated }),
    syncOptions: [
      ...(hasOwnNamespace ? ['CreateNamespace=true'] : []),
      ...optionChoices.filter(() => draw.chance(0.12)),
    ],
    ...(ignoreDifferences === undefined ? {} : { ignoreDifferences }),
    retries,
    finalizer: draw.chance(0.5),
    items: draw.some([2, 5], () => someItem(draw)),
  };
}

function someItem(draw: Draw): ItemPlan {
  if (draw.chance(0.15)) return someHook(draw);
  const annotations: Record<string, string> = {
    ...(draw.chance(0.25) ? { 'sync-wave': String(draw.below(4) - 1) } : {}),
    ...(draw.chance(0.2) ? { 'sync-options': draw.pick(itemOptions) } : {}),
    ...(draw.chance(0.05) ? { 'compare-options': draw.pick(['IgnoreExtraneous', 'ServerSideDiff=true']) } : {}),
  };
  return { kind: draw.pick(itemKinds), ...(Object.keys(annotations).length === 0 ? {} : { annotations }) };
}

function someHook(draw: Draw): ItemPlan {
  const policies = ['BeforeHookCreation', 'HookSucceeded', 'HookFailed'];
  const hook = draw.pick(['PreSync', 'Sync', 'PostSync', 'SyncFail', 'Skip', 'PreSync,PostSync']);
  return {
    kind: draw.pick(['Job', 'Job', 'ConfigMap']),
    annotations: { hook, ...(draw.chance(0.7) ? { 'hook-delete-policy': draw.pick(policies) } : {}) },
  };
}

function someAct(draw: Draw, apps: readonly AppPlan[]): Act {
  const app = draw.below(apps.length);
  const { items } = apps[app]!;
  const item = draw.below(items.length);
  switch (draw.below(20)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4: {
      const to = draw.pick(['blue', 'red', 'red', 'red', 'absent', 'absent', 'refused', 'failing', 'endless'] as const);
      return { do: 'push', app, item, to };
    }
    case 5:
    case 6:
    case 7:
    case 8:
      return {
        do: 'edit',
        app,
        item,
        how: draw.pick(['set', 'set', 'label', 'extra', 'delete', 'keep', 'last-applied']),
      };
    case 9:
      return { do: 'refresh', app, hard: draw.chance(0.5) };
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
      return { do: 'sync', app, with: someSync(draw, items.length) };
    case 15:
      return { do: 'rollback', app, back: draw.below(3), prune: draw.chance(0.5) };
    case 16:
      return { do: 'terminate', app };
    case 17:
      return { do: 'delete', app, cascade: draw.pick(['foreground', 'background', 'none']) };
    case 18:
      return { do: 'settings', name: draw.pick(settingsNames) };
    default:
      return { do: 'spec', app, patch: someSpecPatch(draw) };
  }
}

function someSync(draw: Draw, count: number): SyncPlan {
  const syncOptions = optionChoices.filter(() => draw.chance(0.1));
  const strategy = draw.maybe(0.4, () => draw.pick(['apply', 'hook', 'force'] as const));
  return {
    ...(draw.chance(0.5) ? { prune: true } : {}),
    ...(draw.chance(0.15) ? { dryRun: true } : {}),
    ...(draw.chance(0.25) ? { items: draw.some([1, 2], () => draw.below(count)) } : {}),
    ...(syncOptions.length === 0 ? {} : { syncOptions }),
    ...(strategy === undefined ? {} : { strategy }),
  };
}

function someSpecPatch(draw: Draw): JsonObject {
  switch (draw.below(5)) {
    case 0:
      return { syncPolicy: { automated: { prune: draw.chance(0.5), selfHeal: draw.chance(0.5) } } };
    case 1:
      return { syncPolicy: { automated: null } };
    case 2:
      return { syncPolicy: { syncOptions: [draw.pick(optionChoices)] } };
    case 3:
      return { ignoreDifferences: [draw.pick(ignoreChoices)] };
    default:
      return draw.pick<JsonObject>([
        { source: { targetRevision: 'missing' } },
        { source: { path: 'missing' } },
        { project: 'missing' },
        { destination: { name: 'missing', server: null } },
        { revisionHistoryLimit: 1 },
      ]);
  }
}

/** Data of argocd-cm with these settings. */
export function settingsData(names: readonly SettingsName[]): Record<string, string> {
  // Without data argocd-cm counts as emptied by mistake, and ours keeps what was in force.
  return Object.assign({ url: 'https://argocd.example.com' }, ...names.map((name) => settingsOf(name))) as Record<
    string,
    string
  >;
}
