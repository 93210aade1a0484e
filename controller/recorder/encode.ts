import { defined, hashJson, hashText, stringifyJson } from '#base';
import type { Json, JsonObject, SlicedWork } from '#base';
import type { CompareFacts, TreeRows } from '#compare';
import type { LiveRow } from '#live';
import { asObject, gkOf, groupKindName, jsonOf, keyOf, refOfStatus } from '#model';
import type { Application, GroupKind, KubeObject, Settings } from '#model';
import type { PolicyFacts } from '../admission/policy-facts.ts';
import type { RefreshRequest } from '../application/freshness.ts';
import type { ContestMemory } from '../comparison/contest.ts';
import type { CapturedCall, ComparisonCapture, OperationCapture, PassCapture, RefreshCapture } from './capture.ts';
import { refreshDecisions, stepDecisions } from './decisions.ts';
import { recordingFormat } from './format.ts';
import type { RecordedGap, RecordedHeader, RecordedPass } from './format.ts';
import { RecordingMask } from './mask.ts';

/** Ids of one part of a recording: with more, the part ends and ids begin again. */
const maxIds = 50_000;
const schemasLeftOut = 'published schemas of server-side apply are not recorded';

export type PartHeader = Omit<RecordedHeader, 'type' | 'format' | 'time'>;

/**
 * Writes captured passes as lines of JSON, masked. A value is written once, before the first line
 * that names it.
 */
export class RecordingEncoder {
  readonly #header: PartHeader;
  readonly #maskKey: string;
  #ids = new Map<string, string>();
  #known = new WeakMap<object, string>();
  #mask: RecordingMask;
  #maskedAnnotations = '';

  /** @param maskKey random, and never written. */
  constructor(header: PartHeader, maskKey: string) {
    this.#header = header;
    this.#maskKey = maskKey;
    this.#mask = new RecordingMask(maskKey);
  }

  header(now: number): string {
    const time = new Date(now).toISOString();
    const line: RecordedHeader = { type: 'header', format: recordingFormat, time, ...this.#header };
    return stringifyJson(jsonOf(line));
  }

  gap(message: string): string {
    const line: RecordedGap = { type: 'gap', message };
    return stringifyJson(jsonOf(line));
  }

  /** The lines of one pass, in small steps. */
  *encode(capture: PassCapture, now: number): SlicedWork<readonly string[]> {
    const lines: string[] = [];
    if (this.#ids.size > maxIds) {
      this.#ids = new Map();
      this.#known = new WeakMap();
      lines.push(this.header(now));
    }
    this.#useMaskOf(capture.policy?.settings);
    const inputs =
      capture.kind === 'refresh' ? yield* this.#refresh(capture, lines) : yield* this.#operation(capture, lines);
    const decisions = capture.kind === 'refresh' ? decidedRefresh(capture) : decidedStep(capture);
    const line: RecordedPass = {
      type: capture.kind,
      now: capture.now,
      startedAt: capture.startedAt,
      inputs,
      decisions: this.#mask.status(decisions) as JsonObject,
      inexact: capture.comparison.facts?.schemas === undefined ? [] : [schemasLeftOut],
    };
    lines.push(stringifyJson(jsonOf(line)));
    return lines;
  }

  /** The annotations to be masked follow the settings of the pass. */
  #useMaskOf(settings: Settings | undefined): void {
    const keys = settings?.sensitiveAnnotations ?? [];
    const text = keys.join('\n');
    if (text === this.#maskedAnnotations) return;
    this.#maskedAnnotations = text;
    this.#known = new WeakMap();
    this.#mask = new RecordingMask(this.#maskKey, keys);
  }

  *#refresh(capture: RefreshCapture, lines: string[]): SlicedWork<JsonObject> {
    const { refresh, isAsked, due, before, memory, policy, comparison, tree, claims } = capture;
    return {
      refresh: { ...jsonObject(refresh), ...resourceNames(refresh.resources) },
      isAsked,
      ...(due === undefined
        ? {}
        : {
            due: {
              app: this.#application(due.app, lines),
              request: requestValue(due.request),
              facts: jsonOf(defined(due.facts)),
            },
          }),
      before: this.#application(before, lines),
      memory: {
        ...defined({ driftSeenAt: memory.driftSeenAt, sourceFailedAt: memory.sourceFailedAt }),
        contests: this.#contests(memory.contests, comparison.facts),
        ...(comparison.facts === undefined && memory.roots !== undefined ? { roots: jsonOf(memory.roots) } : {}),
      },
      ...(policy === undefined ? {} : { policy: this.#policy(policy, lines) }),
      comparison: yield* this.#comparison(comparison, lines),
      ...(tree === undefined ? {} : { tree: yield* this.#tree(tree, lines) }),
      claims: [...(claims ?? [])],
    };
  }

  *#operation(capture: OperationCapture, lines: string[]): SlicedWork<JsonObject> {
    const { app, begun, policy, comparison, wave, claims, calls, endedAt, discovery } = capture;
    const answered: JsonObject[] = [];
    for (const call of calls) {
      answered.push(this.#call(call, lines));
      yield;
    }
    return {
      app: this.#application(app, lines),
      ...(begun === undefined ? {} : { begun: this.#application(begun, lines) }),
      ...(policy === undefined ? {} : { policy: this.#policy(policy, lines) }),
      ...(discovery === undefined ? {} : { discovery: this.#ref(jsonOf(servedKinds(discovery)), lines) }),
      comparison: yield* this.#comparison(comparison, lines),
      ...defined({ wave: wave === undefined ? undefined : jsonOf(wave), endedAt }),
      claims: [...(claims ?? [])],
      calls: answered,
    };
  }

  *#comparison(capture: ComparisonCapture, lines: string[]): SlicedWork<JsonObject> {
    const { facts, rendered: sources, sourceError } = capture;
    const failed = sourceError === undefined ? {} : { sourceError: this.#mask.plain(jsonOf(sourceError)) };
    if (facts === undefined || sources === undefined) return failed;
    const rendered: string[] = [];
    for (const object of sources.objects) {
      rendered.push(this.#object(object, lines));
      yield;
    }
    const live: [string, string][] = [];
    for (const [key, object] of facts.live.objects) {
      live.push([key, this.#object(object, lines)]);
      yield;
    }
    const { revisions, sourceTypes, conditions, failed: isFailed, mayHaveChanges } = sources.facts;
    const { unread = [], degraded, conditions: liveConditions, failed: isLiveFailed } = facts.live;
    return {
      ...failed,
      rendered: {
        objects: rendered,
        revisions,
        sourceTypes,
        mayHaveChanges,
        failed: isFailed,
        conditions: this.#mask.plain(jsonOf(conditions)),
      },
      ...(sources.apis === undefined ? {} : { apis: this.#mask.plain(jsonOf(sources.apis)) }),
      live: {
        objects: live,
        unread: this.#mask.plain(jsonOf(unread)),
        degraded: this.#mask.plain(jsonOf(degraded)),
        conditions: this.#mask.plain(jsonOf(liveConditions)),
        failed: isLiveFailed,
      },
      requested: facts.requested,
      namespaced: namespacedKinds(facts, sources.objects),
      persistResourceHealth: facts.persistResourceHealth,
      ...(facts.namespaceSharers === undefined ? {} : { namespaceSharers: jsonOf(facts.namespaceSharers) }),
      ...(facts.serverSideDiff === undefined ? {} : { serverSideDiff: this.#dryRuns(facts.serverSideDiff, lines) }),
    };
  }

  #dryRuns({ mutations, user, outcomes }: NonNullable<CompareFacts['serverSideDiff']>, lines: string[]): JsonObject {
    const answered = [...outcomes].map(([key, outcome]): Json => {
      const answer =
        'refused' in outcome
          ? { refused: this.#mask.plain(outcome.refused) }
          : { predicted: this.#object(outcome.predicted, lines) };
      return [key, answer];
    });
    return { mutations, user, outcomes: answered };
  }

  *#tree({ managed, orphaned }: TreeRows, lines: string[]): SlicedWork<JsonObject> {
    const rows = 'isPlain' in managed ? managed.entries.flatMap(({ row }) => row ?? []) : managed;
    const refs = (list: readonly LiveRow[]): readonly string[] =>
      list.map((row) => this.#known.get(row) ?? this.#remember(row, this.#mask.plain(jsonOf(row)), lines));
    const first = refs(rows);
    yield;
    return { managed: first, orphaned: refs(orphaned) };
  }

  #call({ method, key, how, sent, answer }: CapturedCall, lines: string[]): JsonObject {
    const answered = answer ?? { error: { code: 'ABORTED', message: 'no answer' } };
    const { object } = 'object' in answered ? answered : { object: undefined };
    return {
      method,
      key,
      how,
      ...(sent === undefined ? {} : { sent: this.#object(sent, lines) }),
      answer: {
        ...(this.#mask.plain(jsonOf({ ...answered, object: undefined })) as JsonObject),
        ...(object === undefined ? {} : { object: object === null ? null : this.#object(object, lines) }),
      },
    };
  }

  /** Roles of a project decide nothing, and hold identifiers of tokens. */
  #policy({ settings, projects, repositories, cluster, scoped }: PolicyFacts, lines: string[]): Json {
    return {
      settings: this.#known.get(settings) ?? this.#remember(settings, this.#settings(settings), lines),
      projects: projects.map(
        (project) =>
          this.#known.get(project) ??
          this.#remember(
            project,
            this.#mask.plain(jsonOf({ ...project, spec: { ...project.spec, roles: undefined } })),
            lines,
          ),
      ),
      repositories: this.#mask.plain(
        repositories.map(({ url, project }) => jsonOf(defined({ url: bareUrl(url), project }))),
      ),
      cluster: 'error' in cluster ? this.#mask.plain(jsonOf(cluster)) : clusterValue(cluster),
      scoped: scoped.map(clusterValue),
    };
  }

  /** Raw data of argocd-cm holds keys of other programs; scripts and rules stay as written. */
  #settings(settings: Settings): Json {
    const { overrides, ...rest } = settings;
    const shown = { ...rest, healthScripts: undefined, raw: undefined };
    return { ...(this.#mask.plain(jsonOf(shown)) as JsonObject), overrides: jsonOf(overrides) };
  }

  #contests(contests: ContestMemory | undefined, facts: CompareFacts | undefined): Json {
    const targets = new Map((facts?.rendered.targets ?? []).map((target) => [keyOf(target), target]));
    return [...(contests ?? [])].map(([key, entry]): Json => {
      const target = targets.get(key);
      const isSame = target !== undefined && hashJson(jsonOf(target)) === entry.desired;
      const desired = isSame ? hashJson(jsonOf(this.#mask.object(target))) : entry.desired;
      return [key, jsonOf({ ...entry, desired })];
    });
  }

  #application(app: Application, lines: string[]): string {
    return this.#known.get(app) ?? this.#remember(app, this.#mask.application(asObject(app) as JsonObject), lines);
  }

  #object(object: KubeObject, lines: string[]): string {
    return this.#known.get(object) ?? this.#remember(object, this.#mask.object(object) as JsonObject, lines);
  }

  #remember(source: object, value: Json, lines: string[]): string {
    const id = this.#ref(value, lines);
    this.#known.set(source, id);
    return id;
  }

  #ref(value: Json, lines: string[]): string {
    const text = stringifyJson(value);
    const hash = hashText(text);
    const known = this.#ids.get(hash);
    if (known !== undefined) return known;
    const id = `v${this.#ids.size + 1}`;
    this.#ids.set(hash, id);
    lines.push(`{"type":"value","id":"${id}","value":${text}}`);
    return id;
  }
}

function decidedRefresh(capture: RefreshCapture): JsonObject {
  return refreshDecisions({
    due: capture.due === undefined ? undefined : capture.refresh,
    decided: capture.decided,
    error: capture.error,
  });
}

function decidedStep({ start, calls, next, history, error }: OperationCapture): JsonObject {
  return stepDecisions({ start, calls, next, history, error });
}

function requestValue(request: RefreshRequest | undefined): Json {
  return request === undefined ? null : { ...jsonObject(request), ...resourceNames(request.resources) };
}

function jsonObject(value: object): JsonObject {
  const members = Object.entries(value) as [string, Json | undefined][];
  return Object.fromEntries(members.filter(([name, member]) => name !== 'resources' && member !== undefined));
}

function resourceNames(resources: ReadonlySet<string> | undefined): JsonObject {
  return resources === undefined ? {} : { resources: [...resources] };
}

function clusterValue(cluster: Extract<PolicyFacts['cluster'], { server: string }>): JsonObject {
  const { id, server, name, namespaces, clusterResources, project, conflict, aliases } = cluster;
  return { id, server, name, namespaces, clusterResources, ...defined({ project, conflict, aliases }) };
}

function bareUrl(url: string): string {
  return url.replace(/:\/\/[^\s/?#@]{1,512}@/, '://');
}

/** Kinds that the comparison may ask for, with their scope. */
function namespacedKinds(facts: CompareFacts, objects: readonly KubeObject[]): JsonObject {
  const kinds = new Map<string, GroupKind>();
  const add = (gk: GroupKind): void => void kinds.set(groupKindName(gk), gk);
  for (const object of objects) add(gkOf(object));
  for (const object of facts.live.objects.values()) add(gkOf(object));
  for (const { group, kind } of (facts.app.status?.resources ?? []).map(refOfStatus)) add({ group, kind });
  const scopes = [...kinds].map(([name, gk]): [string, Json] => [name, facts.isNamespaced(gk) ?? null]);
  return Object.fromEntries(scopes);
}

/** Discovery without what renderers alone need. */
function servedKinds({ preferred, served, failedGroups }: NonNullable<OperationCapture['discovery']>): object {
  return { preferred, served, failedGroups: [...failedGroups] };
}
