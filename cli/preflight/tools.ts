import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { outsideText } from '#base';
import { isArtifact, projectOf, sourcesOf } from '#model';
import type { Application, ApplicationSource } from '#model';
import type { CommandRunner } from '#desired';
import { isSomething } from './facts.ts';
import type { InstallationFacts } from './facts.ts';

/** A program that an Application or a cluster needs. */
export interface ToolNeed {
  readonly tool: string;
  /** The users of the program, as text: `2 Applications with Helm sources`. */
  readonly neededBy: readonly string[];
}

/** A needed program and its location on this machine. */
export interface LocatedTool extends ToolNeed {
  /** Undefined: not on PATH. */
  readonly path: string | undefined;
  /** First line of the program's version output; undefined if there is none. */
  readonly version: string | undefined;
}

/** Looks up programs: the only part that touches the machine. */
export interface ToolLookup {
  find(tool: string): string | undefined;
  version(tool: string, path: string): Promise<string | undefined>;
}

/** The programs that Applications and clusters of an installation need, sorted, each once. Pure. */
export function neededTools(
  applications: readonly Application[],
  installation: InstallationFacts,
): readonly ToolNeed[] {
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
    .map(([tool, of]) => ({ tool, neededBy: [...of].map(([what, count]) => needText(what, count)) }))
    .sort((a, b) => (a.tool < b.tool ? -1 : 1));
}

const perApplication = 'Application with ';

function needText(what: string, count: number): string {
  if (!what.startsWith(perApplication)) return what;
  return count === 1 ? `1 ${what}` : `${count} Applications with ${what.slice(perApplication.length)}`;
}

/** Each tool at most once per Application. */
function toolsOf(app: Application, installation: InstallationFacts): ReadonlyMap<string, string> {
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

/** Tools that the source names explicitly. */
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

/** Source types that Argo CD detected, including those of sources without an explicit type. */
function foundTypes({ status }: Application): readonly (string | undefined)[] {
  return [status?.sourceType, ...(status?.sourceTypes ?? [])];
}

function gitTools(source: ApplicationSource): readonly (readonly [string, string])[] {
  if ((source.chart ?? '') !== '' || isArtifact(source)) return [];
  const isSsh = /^(?:ssh:\/\/|[^/]*@[^/]*:)/.test(source.repoURL);
  return [
    ['git', `${perApplication}Git sources`],
    ...(isSsh ? [['ssh', `${perApplication}Git sources over ssh`] as const] : []),
  ];
}

/** Looks up each program. */
export async function lookUpTools(needs: readonly ToolNeed[], lookup: ToolLookup): Promise<readonly LocatedTool[]> {
  return Promise.all(
    needs.map(async (need): Promise<LocatedTool> => {
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
 * Programs of this machine, by PATH. Only known programs are run for their version: a credential
 * plugin might do anything when it is called without arguments.
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
