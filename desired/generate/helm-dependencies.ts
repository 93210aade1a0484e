import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringifyJson } from '#base';
import type { Json, Secret } from '#base';
import { normalizeGitUrl } from '#model';
import type { Repository } from '#model';
import { DesiredError, UnsupportedSource } from '../errors.ts';
import { repositoryKey } from '../fetch/repository-key.ts';
import { secretsIn } from '../given-secrets.ts';
import type { ChartDependency } from './chart.ts';
import type { Job } from './plan.ts';
import { presentable } from './tools.ts';
import type { Tool, ToolRun, Tools } from './tools.ts';

interface Building {
  readonly tools: Tools;
  readonly tool: Tool;
  readonly run: ToolRun;
  readonly dependencies: readonly ChartDependency[];
}

/**
 * `helm dependency build` (Argo CD: getHelmDependencyRepos, DependencyBuild). The repositories and their credentials are given to helm in its
 * configuration files, which lie in the folder of this render, never in its arguments, where every process of the machine could read them.
 */
export async function buildDependencies(job: Job, building: Building): Promise<void> {
  const { tools, tool, dependencies } = building;
  const secrets: string[] = [];
  const entries: Json[] = [];
  const auths: Record<string, Json> = {};
  let insecure = false;
  for (const { repository } of dependencies) {
    const found = repositoryOf(job, repository);
    if (found === undefined) continue;
    for (const secret of [found.repository.password, found.repository.bearerToken]) note(secret, secrets);
    insecure ||= found.repository.insecure;
    if (found.url.startsWith('oci://')) addLogin(auths, found);
    else entries.push(await entryOf(found, building.run.work));
  }
  const folder = join(building.run.work, 'home', 'config', 'helm');
  await mkdir(join(folder, 'registry'), { recursive: true, mode: 0o700 });
  const file = async (name: string, value: Json): Promise<void> =>
    writeFile(join(folder, name), stringifyJson(value), { mode: 0o600 });
  await file('repositories.yaml', { apiVersion: '', repositories: entries });
  await file(join('registry', 'config.json'), { auths });
  const args = ['dependency', 'build', ...(insecure ? ['--insecure-skip-tls-verify'] : [])];
  const run = { ...building.run, network: true, secrets: () => [...secrets, ...secretsIn(job.source)] };
  const result = await tools.result(tool, args, run);
  if (result.exitCode === 0) return;
  // Why a repository did not answer stands among what helm prints of its progress.
  const printed = presentable(Buffer.from(result.stdout).toString('utf8'), run);
  const reasons = printed.match(/Unable to get an update from .*\n.*/g) ?? [];
  throw new DesiredError(
    'DESIRED_RENDER',
    `the dependencies of the chart cannot be built: ${[...reasons, result.stderr].join('; ')}`,
  );
}

/** With which credentials dependencies would be fetched: what one project may read is not answered to another from the cache. */
export function dependenciesKey(job: Job, dependencies: readonly ChartDependency[]): readonly string[] {
  const { repositories } = job.request.repositories;
  return dependencies.map(({ repository }) => {
    const alias = /^(?:@|alias:)(.+)$/.exec(repository)?.[1];
    const found =
      alias === undefined ? repositoryOf(job, repository)?.repository : repositories.find(({ name }) => name === alias);
    return found === undefined ? '' : repositoryKey(found);
  });
}

interface Found {
  readonly name: string;
  readonly url: string;
  readonly repository: Repository;
}

/** Undefined for what needs no repository: a chart in charts/, one by path. */
function repositoryOf({ request }: Job, text: string): Found | undefined {
  const { repositories, credentials } = request.repositories;
  const alias = /^(?:@|alias:)(.+)$/.exec(text)?.[1];
  if (alias !== undefined) {
    const repository = repositories.find(({ name }) => name === alias);
    if (repository !== undefined) return { name: alias, url: repository.url, repository };
    throw new DesiredError(
      'DESIRED_RENDER',
      `the chart depends on the repository "${alias}" by its name: there is no repository Secret of this name that the project may use`,
    );
  }
  if (!/^(?:https?|oci):\/\//.test(text)) return undefined;
  const plain = text.replace(/^oci:\/\//, '');
  const same = repositories.find(({ url }) => normalizeGitUrl(url) === normalizeGitUrl(plain) || url === text);
  const lender = credentials
    .filter(({ url }) => isPrefix(url.replace(/^oci:\/\//, ''), plain))
    .sort((a, b) => b.url.length - a.url.length)[0];
  const none: Repository = { url: text, type: 'helm', insecure: false, inheritedCreds: false };
  return { name: text.replaceAll('/', '-'), url: text, repository: same ?? lender ?? none };
}

/** By whole segments: credentials for `https://host/team` are none for `https://host/team-b`. */
function isPrefix(prefix: string, url: string): boolean {
  const clean = prefix.replace(/\/+$/, '');
  return url === clean || url.startsWith(`${clean}/`);
}

async function entryOf({ name, url, repository }: Found, work: string): Promise<Json> {
  const { username, password, tlsClientCertData, tlsClientCertKey } = repository;
  const entry: Record<string, Json> = { name, url };
  if (username !== undefined) entry['username'] = username;
  if (password !== undefined) entry['password'] = password.reveal();
  if (repository.insecure) entry['insecure_skip_tls_verify'] = true;
  if (repository.proxy !== undefined) throw new UnsupportedSource('a proxy for a chart repository');
  if (tlsClientCertData !== undefined && tlsClientCertKey !== undefined) {
    entry['certFile'] = await secretFile(work, `${name.replaceAll(/[^\w-]/g, '-')}.crt`, tlsClientCertData);
    entry['keyFile'] = await secretFile(work, `${name.replaceAll(/[^\w-]/g, '-')}.key`, tlsClientCertKey);
  }
  return entry;
}

async function secretFile(work: string, name: string, secret: Secret): Promise<string> {
  const path = join(work, 'home', name);
  await writeFile(path, `${secret.reveal().trimEnd()}\n`, { mode: 0o600 });
  return path;
}

function addLogin(auths: Record<string, Json>, { url, repository }: Found): void {
  const { username, password } = repository;
  if (username === undefined || password === undefined) return;
  const host = new URL(url.replace(/^oci:/, 'https:')).host;
  auths[host] = { auth: Buffer.from(`${username}:${password.reveal()}`).toString('base64') };
}

function note(secret: Secret | undefined, into: string[]): void {
  if (secret !== undefined) into.push(secret.reveal());
}
