import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { outsideText } from '#base';
import { projectOf, sourcesOf } from '#model';
import type { Application, ApplicationSource } from '#model';
import type { CommandRunner } from '#desired';
import { isSomething } from './facts.ts';
import type { Installation } from './facts.ts';

/** A program that something in use needs. */
export interface ToolNeed {
  readonly tool: string;
  /** What needs it, for people: `2 Applications with Helm sources`. */
  readonly neededBy: readonly string[];
}

/** A program that is needed, and where it is on this machine. */
export interface Tool extends ToolNeed {
  /** Undefined: not on PATH. */
  readonly path: string | undefined;
  /** The first line of what it says of itself; undefined when it did not say. */
  readonly version: string | undefined;
}

/** How to look for programs: the one part that touches the machine. */
export interface ToolLookup {
  find(tool: string): string | undefined;
  version(tool: string, path: string): Promise<string | undefined>;
}

/** The programs that the Applications and clusters of an installation need, each once, sorted. A pure function. */
export function neededTools(applications: readonly Application[], installation: Installation): readonly ToolNeed[] {
  const uses = new Map<string, Map<string, number>>();
  const need = (tool: string, what: string): void => {
    const of = uses.get(tool) ?? new Map<string, number>();
    uses.set(tool, of.set(what, (of.get(what) ?? 0) + 1));
  };
  for (const app of applications) for (const [tool, what] of toolsOf(app, installation)) need(tool, what);
  for (const { name, server, connection } of installation.clusters) {
    const command = connection.credentials.exec?.command ?? '';
    if (command !== '') need(command, `credentials of cluster ${outsideText('field', name === '' ? server : name)}`);
  }
  return [...uses]
    .map(([tool, of]) => ({ tool, neededBy: [...of].map(([what, count]) => worded(what, count)) }))
    .sort((a, b) => (a.tool < b.tool ? -1 : 1));
}

const perApplication = 'Application with ';

function worded(what: string, count: number): string {
  if (!what.startsWith(perApplication)) return what;
  return count === 1 ? `1 ${what}` : `${count} Applications with ${what.slice(perApplication.length)}`;
}

/** Each tool at most once for an Application. */
function toolsOf(app: Application, installation: Installation): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const source of sourcesOf(app.spec)) {
    for (const [tool, what] of renderers(source)) found.set(tool, what);
    for (const [tool, what] of gitTools(source)) found.set(tool, what);
  }
  const types = foundTypes(app);
  if (types.includes('Helm')) found.set('helm', `${perApplication}Helm sources`);
  if (types.includes('Kustomize')) found.set('kustomize', `${perApplication}Kustomize sources`);
  const project = installation.projects.get(projectOf(app))?.spec as Readonly<Record<string, unknown>> | undefined;
  if (isSomething(project?.['signatureKeys']) || isSomething(project?.['sourceIntegrity']))
    found.set('gpg', `${perApplication}sources that must be signed`);
  return found;
}

/** What the source itself says that it needs. */
function renderers({
  chart = '',
  helm,
  kustomize,
  directory,
}: ApplicationSource): readonly (readonly [string, string])[] {
  const usesJsonnet = Object.keys(directory?.jsonnet ?? {}).length > 0;
  return [
    ...(chart !== '' || helm !== undefined ? [['helm', `${perApplication}Helm sources`] as const] : []),
    ...(kustomize === undefined ? [] : [['kustomize', `${perApplication}Kustomize sources`] as const]),
    ...(usesJsonnet ? [['jsonnet', `${perApplication}Jsonnet sources`] as const] : []),
  ];
}

/** What Argo CD found the sources to be, those included that do not say it themselves. */
function foundTypes({ status }: Application): readonly (string | undefined)[] {
  return [status?.sourceType, ...(status?.sourceTypes ?? [])];
}

function gitTools(source: ApplicationSource): readonly (readonly [string, string])[] {
  if ((source.chart ?? '') !== '' || source.repoURL.startsWith('oci://')) return [];
  const isSsh = /^(?:ssh:\/\/|[^/]*@[^/]*:)/.test(source.repoURL);
  return [
    ['git', `${perApplication}Git sources`],
    ...(isSsh ? [['ssh', `${perApplication}Git sources over ssh`] as const] : []),
  ];
}

/** Looks each of them up. */
export async function lookUpTools(needs: readonly ToolNeed[], lookup: ToolLookup): Promise<readonly Tool[]> {
  return Promise.all(
    needs.map(async (need): Promise<Tool> => {
      const path = lookup.find(need.tool);
      return { ...need, path, version: path === undefined ? undefined : await lookup.version(need.tool, path) };
    }),
  );
}

const versionArgs: Readonly<Record<string, readonly string[]>> = {
  helm: ['version', '--short'],
  kustomize: ['version'],
  jsonnet: ['--version'],
  git: ['--version'],
  gpg: ['--version'],
  ssh: ['-V'],
};

/**
 * Programs of this machine, by PATH. Only those that we know are asked for their version: what a credential plugin does when it is called
 * without its arguments is its own business.
 */
export function machineTools(
  env: Readonly<Record<string, string | undefined>>,
  runner: CommandRunner,
  signal: AbortSignal,
): ToolLookup {
  return {
    find: (tool) => {
      const folders = isAbsolute(tool) ? [''] : (env['PATH'] ?? '').split(delimiter);
      return folders.map((folder) => join(folder, tool)).find(isProgram);
    },
    version: async (tool, path) => {
      const args = versionArgs[tool];
      if (args === undefined) return undefined;
      try {
        const options = { timeoutMs: 5000, maxBytes: 1 << 16, signal };
        const { exitCode, stdout, stderr } = await runner.runCommand([path, ...args], options);
        const text = Buffer.from(stdout).toString('utf8').trim();
        if (exitCode !== 0) return undefined;
        return (text === '' ? stderr.trim() : text).split('\n')[0];
      } catch (error) {
        if (signal.aborted) throw error;
        return undefined;
      }
    },
  };
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
