import { isAbort, messageOf } from '#base';
import type { DryRunOutcome, DryRunPair } from '#compare';
import { dryRunRequest } from '#diff';
import type { DiffRules } from '#diff';
import { findResource, isConflict, KubeApiError } from '#kube';
import type { ApiDiscovery, KubeClient, WriteOptions } from '#kube';
import { fieldManager as controllerManager, gkOf, versionOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import { ClusterNotReady } from '../shared/errors.ts';
import { needsVersion } from '../write/apply-rules.ts';
import type { WritePace } from '../write/write-pace.ts';

/** Client and rate limit for one cluster, and what decides about ownership there. */
export interface DryRunAccess {
  readonly client: KubeClient;
  readonly pace: Pick<WritePace, 'write'>;
  readonly discovery: () => ApiDiscovery;
  readonly rules: Pick<DiffRules, 'schemas' | 'fieldManager'>;
}

/**
 * Sends what a sync would send for one object, as a dry run. Errors of the server are outcomes;
 * rejects with ClusterNotReady and abort reasons.
 */
export async function sendDryRun(
  { client, pace, discovery, rules }: DryRunAccess,
  { target, live, method }: Pick<DryRunPair, 'target' | 'live' | 'method'>,
  signal: AbortSignal,
): Promise<DryRunOutcome> {
  const request = dryRunRequest(target, live, method, rules);
  if (request === undefined) return { predicted: live };
  const resource = findResource(discovery(), gkOf(target), versionOf(target.apiVersion));
  if (resource === undefined) return { refused: 'the server could not find the requested resource' };
  const { name = '', namespace = '' } = target.metadata;
  const named = { namespace: resource.namespaced ? namespace : '', name };
  const { fieldManager = controllerManager } = rules;
  const options = { signal, fieldManager, fieldValidation: 'Ignore', dryRun: true } as const;
  try {
    const predicted = await pace.write(signal, () => {
      if (request.verb === 'replace') return replaceAnyVersion(client, resource, request.body, options);
      const patch = request.verb === 'patch' ? request : ({ type: 'apply', body: request.body } as const);
      return client.patch(resource, named, patch, request.verb === 'patch' ? options : { ...options, force: true });
    });
    return { predicted };
  } catch (error) {
    if (signal.aborted || isAbort(error) || error instanceof ClusterNotReady) throw error;
    return { refused: refusalText(messageOf(error)), final: isFinalRefusal(error) };
  }
}

const maxReplaceAttempts = 3;

/** Replaces whatever version is stored; some kinds require the current one. */
async function replaceAnyVersion(
  client: KubeClient,
  resource: ApiResource,
  body: KubeObject,
  options: WriteOptions,
): Promise<KubeObject> {
  let sent = body;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await client.replace(resource, sent, options);
    } catch (error) {
      if (attempt === maxReplaceAttempts || !(isConflict(error) || needsVersion(error))) throw error;
      const { name = '', namespace = '' } = body.metadata;
      const { metadata } = await client.get(resource, { name, namespace }, { signal: options.signal });
      const { resourceVersion = '' } = metadata;
      sent = { ...body, metadata: { ...body.metadata, resourceVersion } };
    }
  }
}

/** A refusal for what the request contains, which a sync will get too. */
function isFinalRefusal(error: unknown): boolean {
  return error instanceof KubeApiError && (error.status === 400 || error.status === 422);
}

const maxQuotedLength = 60;
const quotedValue = /(Invalid value): (.+): (?=[^:]{1,200}$)/gmsu;

/** The server's reason without the whole struct that it quotes: long, or confidential. */
function refusalText(message: string): string {
  return message.replaceAll(quotedValue, (all: string, what: string, value: string) =>
    value.length > maxQuotedLength ? `${what}: ` : all,
  );
}
