import type { DiffRules } from '#diff';
import { annotationOf, annotations, asObject, clientSideManager } from '#model';
import type { Application } from '#model';

/** The manager whose client-side fields a server-side apply takes over first. */
export function migrationManagerOf(app: Application): string {
  return annotationOf(asObject(app), annotations.clientSideApplyMigrationManager) ?? clientSideManager;
}

/** How the Application's sync options send its objects. */
export function applyRulesOf(app: Application): Pick<DiffRules, 'serverSideApply' | 'replace' | 'adoptFrom'> {
  const { adopts, ...rules } = rulesOfOptions(app.spec.syncPolicy?.syncOptions ?? noSyncOptions);
  return adopts ? { ...rules, adoptFrom: migrationManagerOf(app) } : rules;
}

interface OptionRules {
  readonly serverSideApply: boolean;
  readonly replace: boolean;
  readonly adopts: boolean;
}

/** Cached by the list of sync options, which may be long: every resource needs it. */
const rulesByOptions = new WeakMap<readonly string[], OptionRules>();
const noSyncOptions: readonly string[] = [];

function rulesOfOptions(options: readonly string[]): OptionRules {
  const known = rulesByOptions.get(options) ?? {
    serverSideApply: options.includes('ServerSideApply=true'),
    replace: options.includes('Replace=true'),
    adopts: !options.includes('ClientSideApplyMigration=false'),
  };
  rulesByOptions.set(options, known);
  return known;
}
