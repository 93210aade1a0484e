import { accessSync, constants, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defined, messageOf, runGroups, systemClock, systemRandom, UsageError } from '#base';
import {
  checkRenderer,
  createRenderServer,
  createToolLookup,
  parserCommand,
  parseRenderAddress,
  programsFrom,
  RenderService,
} from '#desired';
import { createLogger } from '#telemetry';
import type { ConfigOf } from '../options/args.ts';
import { describe, readArgs } from '../options/args.ts';
import type { CommandContext } from '../process/command.ts';
import { packageVersion } from '../process/root.ts';
import { containerMemory, maxProgramBytes } from './memory.ts';
import { parseBytes, renderOptions } from './options.ts';

type RenderConfig = ConfigOf<typeof renderOptions>;

const usage = `Run helm, kustomize, jsonnet and the parser of big files for controllers, with no credential and no network in reach.

Usage:
  driftless render --listen ADDRESS [flags]

Examples:
  # In the pod of the controller, which gets --renderer unix:/run/driftless/renderer/private/render.sock
  driftless render --listen unix:/run/driftless/renderer/private/render.sock

  # In a pod of its own
  driftless render --listen tls:0.0.0.0:8443 --tls-cert tls.crt --tls-key tls.key --client-ca ca.crt

  # For an exec probe
  driftless render --check --listen unix:/run/driftless/renderer/private/render.sock

Flags:
`;

const graceMs = 8000;
const tokenFile = '/var/run/secrets/kubernetes.io/serviceaccount/token';
/** Environment variables for this process; programs get none of them. */
const keptVariables = new Set(['PATH', 'TMPDIR', 'TZ', 'NODE_ENV']);

/** `driftless render`: runs the renderer until a signal stops it. */
export async function render(
  { argv, env, output, signal }: CommandContext,
  tokenPath: string = tokenFile,
): Promise<number> {
  const { config, positionals } = readArgs(renderOptions, argv, env);
  if (config.help) {
    output.out(`${usage}${describe(renderOptions)}`);
    return 0;
  }
  if (positionals.length > 0) throw new UsageError(`render takes flags only, not "${positionals[0] ?? ''}"`);
  if (config.listen === '') throw new UsageError('render needs --listen: unix:/path/render.sock or tls:HOST:PORT');
  const address = parseRenderAddress(config.listen, '--listen');
  const tls = address.kind === 'tls' ? tlsOf(config) : undefined;
  const ownUid = process.getuid?.() ?? 0;
  if (config.check) {
    const identity = { clock: systemClock, random: systemRandom, version: packageVersion(), ownUid };
    await checkRenderer({ ...identity, address, ...(tls === undefined ? {} : { tls: () => tls }) }, signal);
    return 0;
  }
  if (!config.allowToken) refuseToken(tokenPath);
  dropEnvironment();
  const logger = createLogger({ level: 'info', format: config.logFormat as 'json' });
  const lookup = createToolLookup({ path: config.toolPath === '' ? env['PATH'] : config.toolPath });
  const memoryBytes = config.memoryLimit === '' ? containerMemory() : parseBytes(config.memoryLimit, '--memory-limit');
  const service = new RenderService({
    clock: systemClock,
    random: systemRandom,
    logger,
    folder: join(config.folder === '' ? tmpdir() : config.folder, `driftless-render-${ownUid}`),
    programs: programsFrom(lookup, parserCommand()),
    parallelism: config.parallelism,
    memoryBytes,
    maxProgramBytes: maxProgramBytes(memoryBytes),
    isRoot: ownUid === 0,
  });
  await service.open(signal);
  const { maxRequestBytes } = config;
  const own = { service, version: packageVersion(), instance: systemRandom.uuid(), maxRequestBytes };
  const server = createRenderServer({ ...own, logger, address, ...defined({ tls }) });
  try {
    await runGroups([[server]], signal, { clock: systemClock, graceMs });
  } finally {
    await service.close();
  }
  return 0;
}

/**
 * Refuses to start if a ServiceAccount token is readable: the renderer runs programs for anyone who
 * can change an Application, so they could steal it.
 * @throws UsageError
 */
export function refuseToken(path: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch {
    return;
  }
  throw new UsageError(
    `a ServiceAccount token is readable at ${path}, and programs that run for tenants could steal it: ` +
      'set automountServiceAccountToken: false for this pod, or use --allow-service-account-token',
  );
}

function dropEnvironment(): void {
  for (const name of Object.keys(process.env)) if (!keptVariables.has(name)) Reflect.deleteProperty(process.env, name);
}

function tlsOf(config: RenderConfig): { readonly cert: Buffer; readonly key: Buffer; readonly ca: Buffer } {
  const read = (path: string, flag: string): Buffer => {
    if (path === '') throw new UsageError(`a tls: address needs ${flag}`);
    try {
      return readFileSync(path);
    } catch (error) {
      throw new UsageError(`${flag}: ${messageOf(error)}`);
    }
  };
  return {
    cert: read(config.tlsCert, '--tls-cert'),
    key: read(config.tlsKey, '--tls-key'),
    ca: read(config.clientCa, '--client-ca'),
  };
}
