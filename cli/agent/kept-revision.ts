import { isObject, parseJson } from '#base';
import type { Json } from '#base';
import { asApplication } from '#model';
import type { Application, KubeObject } from '#model';
import { agentNamespace } from './hub-objects.ts';
import type { HubStore } from './hub-store.ts';
import { recordAnnotations } from './identity.ts';
import { specOf } from './lease-holder.ts';

/**
 * The commit that a folder was last compared with. The record of the agent names it before anything
 * of that commit is written, so a restarted agent can repair drift before it can read its source.
 */
export interface KeptRevision {
  readonly revision: string;
  /** Hash of the source that the revision belongs to (`sourceIdOf`). */
  readonly source: string;
}

const commitId = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** The annotation of a record that is written at `renewTime`. */
export function keptAs({ revision, source }: KeptRevision, renewTime: string): Record<string, string> {
  return { [recordAnnotations.revision]: JSON.stringify({ revision, source, renewTime }) };
}

/**
 * The commit in a record; undefined if it has none.
 * @throws Error if it may be outdated: every renewal by an agent that knows it names its own time.
 */
export function readKept(lease: KubeObject): KeptRevision | undefined {
  const text = lease.metadata.annotations?.[recordAnnotations.revision];
  if (text === undefined) return undefined;
  const { revision, source, renewTime } = membersOf(text);
  if (typeof revision !== 'string' || !commitId.test(revision) || typeof source !== 'string')
    throw new Error('the annotation was edited');
  if (renewTime !== specOf(lease)['renewTime'])
    throw new Error('an agent of another version has renewed the record since, and may have applied another commit');
  return { revision, source };
}

/** The members of a JSON object; none if it is something else. */
export function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value = parseJson(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** The commit that writes to the cluster come from; undefined before the first comparison. */
function revisionInForce({ operation, status }: Application): string | undefined {
  const { phase, operation: running } = status?.operationState ?? {};
  const { status: sync = 'Unknown', revision = '' } = status?.sync ?? {};
  const candidates = [
    operation?.sync?.revision,
    phase === 'Running' ? running?.sync?.revision : undefined,
    sync === 'Unknown' ? undefined : revision,
  ];
  return candidates.find((each) => commitId.test(each ?? ''));
}

/** Calls `note` with the commit in force after each change of an Application. */
export function followRevision(store: HubStore, name: string, note: (revision: string) => void): () => void {
  return store.subscribe(({ object }) => {
    if (object.kind !== 'Application' || object.metadata.name !== name) return;
    const revision = revisionInForce(asApplication(object));
    if (revision !== undefined) note(revision);
  });
}

/** The Application of a restarted agent: compared with this commit, with an unknown result. */
export function asComparedWith(object: KubeObject, revision: string): KubeObject {
  const isOurs = object.kind === 'Application' && object.metadata.namespace === agentNamespace;
  if (!isOurs) return object;
  const { source, destination } = object['spec'] as Readonly<Record<string, Json>>;
  return {
    ...object,
    status: { sync: { status: 'OutOfSync', comparedTo: { source, destination }, revision } },
  };
}
