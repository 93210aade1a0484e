import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock, systemRandom, UsageError } from '#base';
import { createRemoteRenderer, parseRenderAddress, startLocalRenderer } from '#desired';
import type { Renderer } from '#desired';
import type { Logger } from '#telemetry';
import type { RunConfig } from '../options/run-options.ts';
import { packageVersion } from '../process/root.ts';

export interface LocalRendererPlace {
  readonly logger: Logger;
  /** Folder of this process alone, for staging folders. */
  readonly folder: string;
  /** PATH that is searched for helm, kustomize and jsonnet. */
  readonly path: string | undefined;
  readonly logFormat?: 'json' | 'text';
  /** Logs the available namespaces only if some are missing. */
  readonly isQuiet?: boolean;
  /** The renderer starts with the first request, and ends after it was idle for this long. */
  readonly idleLimitMs?: number | undefined;
}

/**
 * Starts a renderer as a child process. Call it early: a fork stalls a process in proportion to its
 * size.
 */
export function localRenderer({
  logger,
  folder,
  path = '',
  logFormat,
  isQuiet,
  idleLimitMs,
}: LocalRendererPlace): Renderer {
  return startLocalRenderer({
    clock: systemClock,
    random: systemRandom,
    version: packageVersion(),
    logger,
    idleLimitMs,
    settings: {
      folder: join(folder, 'render'),
      path,
      folders: [],
      parallelism: localParallelism,
      memoryBytes: localMemoryBytes,
      maxRequestBytes: localRequestBytes,
      logLevel: isQuiet === true ? 'warn' : 'info',
      logFormat: logFormat ?? 'text',
    },
  });
}

/** More slots than the controller uses, so that the controller alone decides the order. */
const localParallelism = 16;
const localMemoryBytes = 4 * 2 ** 30;
const localRequestBytes = 2 ** 30;

/**
 * The renderer of `driftless run`: `--renderer`, or a child process.
 * @throws UsageError
 */
export function rendererOf(config: RunConfig, place: LocalRendererPlace): Renderer {
  const { renderer, rendererCa, rendererCert, rendererKey, rendererUid } = config;
  if (renderer === '') return localRenderer(place);
  const address = parseRenderAddress(renderer, '--renderer');
  const files = { '--renderer-ca': rendererCa, '--renderer-cert': rendererCert, '--renderer-key': rendererKey };
  const missing = Object.entries(files).flatMap(([flag, path]) => (path === '' ? [flag] : []));
  if (address.kind === 'tls' && missing.length > 0)
    throw new UsageError(`--renderer ${renderer} needs ${missing.join(', ')}`);
  return createRemoteRenderer({
    clock: systemClock,
    random: systemRandom,
    version: packageVersion(),
    address,
    ownUid: process.getuid?.() ?? 0,
    rendererUid: rendererUid < 0 ? undefined : rendererUid,
    ...(address.kind === 'tls' ? { tls: () => tlsFrom(rendererCa, rendererCert, rendererKey) } : {}),
  });
}

/** Reads the files for each connection, because certificates are rotated. */
function tlsFrom(
  ca: string,
  cert: string,
  key: string,
): { readonly ca: Buffer; readonly cert: Buffer; readonly key: Buffer } {
  return { ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) };
}
