import { isDeepStrictEqual } from 'node:util';
import { omit } from '#base';
import { defaultOf, readArgs } from '../options/args.ts';
import type { OptionSpec } from '../options/args.ts';
import { renderingOptions } from '../options/rendering-options.ts';
import type { InstallationFacts, WorkloadFacts } from './facts.ts';
import { rows } from './rows.ts';
import type { UsedFeature } from './rows.ts';

const specs: readonly OptionSpec[] = Object.values(renderingOptions);

/**
 * Settings of Argo CD's repo-server that change what is rendered. The chart passes the keys of
 * argocd-cmd-params-cm to the controller, but not variables and flags that were added to the
 * repo-server's Deployment. Names only, never values.
 */
export function renderingFeatures({ params, repoServer, workload }: InstallationFacts): readonly UsedFeature[] {
  const found = specs.flatMap((spec): UsedFeature[] => {
    const set = settingOf(spec, params, repoServer);
    if (set === undefined || !changes(spec, set.value)) return [];
    const { env = '' } = spec;
    if (spec.noEffect !== undefined) return [feature(set.where, `has no effect here: ${spec.noEffect}`, 'info')];
    if (set.isKey) return [feature(set.where, `where the controller renders itself, it counts as ${env}`, 'info')];
    const isCarried = workload?.env.get(env) === set.value || workload?.flags.has(spec.flag) === true;
    return isCarried ? [] : [feature(set.where, carryOver(env), 'differs')];
  });
  return [...found, ...serverKeys(params)];
}

interface RepoServerSetting {
  readonly where: string;
  /** '' for a flag, whose value is not read. */
  readonly value: string;
  readonly isKey?: boolean;
}

/** A literal variable of the Deployment wins: it replaces the one that reads the ConfigMap. */
function settingOf(
  { env = '', key = '', flag }: OptionSpec,
  params: InstallationFacts['params'],
  repoServer: WorkloadFacts | undefined,
): RepoServerSetting | undefined {
  const name = `Deployment ${repoServer?.name ?? ''}`;
  if (repoServer?.flags.has(flag) === true) return { where: `${name}: --${flag}`, value: '' };
  const literal = repoServer?.env.get(env);
  if (literal !== undefined) return { where: `${name}: ${env}`, value: literal };
  const value = params[key.slice(2)] ?? '';
  if (value.trim() === '') return undefined;
  return { where: `ConfigMap argocd-cmd-params-cm: ${key.slice(2)}`, value, isKey: true };
}

/** A value that only Argo CD accepts is a change as well. */
function changes(spec: OptionSpec, value: string): boolean {
  if (value === '' || spec.env === undefined) return true;
  const option = omit(spec, 'noEffect') as OptionSpec;
  const { config, warnings } = readArgs({ option }, [], { [spec.env]: value });
  return warnings.length > 0 || !isDeepStrictEqual(config.option, defaultOf(spec));
}

/** Keys that concern the repo-server as a server: its address, TLS, logs and Redis. */
function serverKeys(params: InstallationFacts['params']): readonly UsedFeature[] {
  const known = new Set(specs.map(({ key }) => key));
  const others = Object.keys(params).filter((key) => key.startsWith('reposerver.') && !known.has(`P:${key}`));
  if (others.length === 0) return [];
  const where = `ConfigMap argocd-cmd-params-cm: ${others.join(', ')}`;
  const text = 'settings of the repo-server as a server: they keep their effect on it';
  return [{ feature: text, where, severity: 'info', row: rows.generator }];
}

function carryOver(env: string): string {
  return `counts on the repo-server only: where the controller renders itself, set ${env} in controller.env of the chart`;
}

function feature(where: string, text: string, severity: UsedFeature['severity']): UsedFeature {
  return { feature: text, where, severity, row: rows.repoServerVariables };
}
