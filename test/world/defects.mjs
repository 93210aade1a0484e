/**
 * Deliberate defects of the product for scripts/world-gate.mjs, one for each promise: `from` occurs
 * exactly once in `file`. test/world/defect-seeds.json has for each a schedule that shows it.
 */
export const defects = [
  // The hand-over.
  d(
    'a write does not check ownership right before it is sent',
    'kube/requests/exchange.ts',
    '...defined({ body: spec.body, beforeSend: spec.beforeSend }),',
    '...defined({ body: spec.body }),',
  ),
  d(
    'ownership is not checked at all',
    'sharding/ownership/ownership.ts',
    'if (!this.#wasSuspended() && this.#rights.mayWriteTo(server, app)) return;',
    'return;',
  ),
  d(
    'the lease counts from the answer, three times as long',
    'sharding/protocol/lease-state.ts',
    'until: { monotonic: sent.monotonic + valid, wall: sent.wall + valid },',
    'until: { monotonic: now.monotonic + 3 * valid, wall: now.wall + 3 * valid },',
  ),
  d(
    'parts are taken up without waiting for the former owner',
    'sharding/protocol/lease-state.ts',
    '.every((wait) => hub.settled(wait))) return false',
    '.every(() => true)) return false',
  ),
  d(
    'a slot without a live holder is ready to take over',
    'sharding/protocol/presence.ts',
    'if (!this.isLive(slot)) return false;',
    '',
  ),
  d(
    'offered parts of a split cluster are not reached by its other owners',
    'controller/clusters/cluster-reach.ts',
    'known.filter(({ server }) => keysOffered.has(clusterKey(server)))',
    'known.filter((cluster) => keysOffered.has(clusterKey(cluster.server)) && !own.includes(cluster))',
  ),
  // Pruning and deletion.
  d(
    'Prune=false is ignored',
    'sync/step.ts',
    "if (own === 'false') return { delete: false, message: 'ignored (no prune)' };",
    "if (own === 'false') return { delete: true };",
  ),
  d('pruning cannot be switched off', 'sync/step.ts', 'if (!options.prune) return {', 'if (false) return {'),
  d(
    'a deletion names no version',
    'controller/write/apply-rules.ts',
    "return named && resourceVersion !== undefined && resourceVersion !== '' ? { uid, resourceVersion } : { uid };",
    'return { uid };',
  ),
  d(
    'an object is deleted although its markings changed',
    'controller/write/writer.ts',
    "if (hasChangedMarks(live, fresh, this.#deps.appOf)) return 'changed';",
    '',
  ),
  d(
    'Delete=false is ignored',
    'controller/operation/deletion-rules.ts',
    "if (deleteOption(app, object) === 'false') return false;",
    '',
  ),
  d(
    'the finalizer is removed before the objects are gone',
    'controller/operation/deletion.ts',
    'const left = await this.#cascade(context, isHeld, signal);',
    'const left = undefined;',
  ),
  // Operations.
  d(
    'an Application without automated sync is synced',
    'controller/application/autosync.ts',
    "if (!isAutomated(app.spec)) return 'automated sync is off';",
    '',
  ),
  d(
    'a failed operation is not retried',
    'controller/application/operation-state.ts',
    'if (!wasTerminating && (limit < 0 || retried < limit)) return retryLater(state, now);',
    '',
  ),
  d(
    'the end of an operation leaves the operation in place',
    'controller/application/status-patch.ts',
    "...(final ? [{ op: 'add', path: '/operation', value: null }] : []),",
    '',
  ),
  d(
    'all waves are applied at once',
    'sync/step.ts',
    'task.phase === first?.phase && task.wave === first.wave',
    'task.phase === first?.phase || task.phase === first?.phase',
  ),
  d(
    'hooks of an earlier sync count for this one',
    'controller/application/operation-state.ts',
    'return `${startedAt}/${retryCount}`;',
    'return `${startedAt.length}/${retryCount}`;',
  ),
  d(
    'a sync that succeeded is not in the history',
    'controller/decide/operation-step.ts',
    'history: nextHistory(begun, state, now) };',
    'history: undefined };',
  ),
  // Reading clusters.
  d(
    'a list of another kind is accepted',
    'kube/requests/answers.ts',
    'checkItemKind(item, groupKindName(resource), request);',
    '',
  ),
  d('a watch without any byte never ends', 'kube/requests/watch-stream.ts', 'else this.#fire(limitMs, doing);', ''),
  d(
    'a lost event is never found',
    'live/watch/kind-watch.ts',
    'if (wentBack || differing.length === 0) continue;',
    'continue;',
  ),
  d(
    'a change during a pass is lost',
    'queues/work-queue.ts',
    "if (entry.pending === 'due') this.#enterLanes(entry, now);",
    "if (entry.pending === 'due') clearPending(entry);",
  ),
  d(
    'objects are not tracked',
    'compare/targets.ts',
    'return withTracking(object, rules.instance, rules.destinationNamespace, rules.tracking);',
    'return object;',
  ),
  // Secrets.
  d(
    'Secrets are published without masks',
    'compare/managed.ts',
    'const sides = maskSecrets(target, live, settings.sensitiveAnnotations);',
    'const sides = { target, live };',
  ),
  d(
    'a refusal that quotes a Secret is shown',
    'kube/requests/answers.ts',
    'if (kind !== secretKind) return { hidden };',
    'return { hidden };',
  ),
  // Publishing.
  d(
    'values are published without ownership',
    'controller/assembly/publishing.ts',
    'return guard.toApplication(app, neverAborted, ({ signal, beforeSend }) => send(signal, beforeSend));',
    'return send(neverAborted);',
  ),
  d(
    'a value that Redis lost is not written again',
    'publish/redis/session.ts',
    'this.#deps.documents.lost(document);',
    '',
  ),
  // Comparing.
  d('a Pending claim counts as Healthy', 'health/storage.ts', "{ status: 'Progressing' }", "{ status: 'Healthy' }"),
  d(
    'an object that Git lost makes nothing OutOfSync',
    'compare/row.ts',
    "makesOutOfSync: computed === 'OutOfSync' && !extraneous,",
    "makesOutOfSync: computed === 'OutOfSync' && !extraneous && !prune,",
  ),
  d(
    'a changed value is no difference',
    'diff/comparison/diff.ts',
    '  if (patch === undefined) return [live, live];',
    '  if (patch === undefined || type !== undefined) return [live, live];',
  ),
  d(
    'an object that vanished during a gap of the watch stays in the cache',
    'live/store/cluster-cache.ts',
    'this.forget(node.key);\n        isChanged',
    'continue;\n        isChanged',
  ),
  d(
    'a refresh that a person asked for is not answered',
    'controller/application/freshness.ts',
    '  if (requested !== undefined) {',
    "  if (requested?.type === 'hard') {",
  ),
  d(
    'no resync is due',
    'controller/application/freshness.ts',
    'return limitMs > 0 && (last === undefined || last + limitMs < facts.now);',
    'return false;',
  ),
  d(
    'a status is written although nothing differs',
    'controller/application/status-patch.ts',
    'return patch === undefined ? undefined : { status: patch };',
    'return { status: patch ?? {} };',
  ),
  d(
    'a late write replaces the state of a newer operation',
    'controller/application/status-patch.ts',
    ": [{ op: 'test', path: `/status/operationState/${field}`, value: known[field] }],",
    ': [],',
  ),
  d(
    'operations of one second have one identity',
    'controller/application/operation-state.ts',
    'return before !== undefined && aheadMs >= 0 && aheadMs < believedSkewMs ? before + 1000 : now;',
    'return now;',
  ),
  d(
    'an Application that is being deleted is synced',
    'controller/application/application-writes.ts',
    'if (lastRunId(fresh) === lastRunId(app) && fresh.metadata.deletionTimestamp === undefined) return undefined;',
    'if (lastRunId(fresh) === lastRunId(app)) return undefined;',
  ),
  d('PostSync hooks run first', 'sync/plan.ts', 'PostSync: 1, SyncFail: 2 }', 'PostSync: -2, SyncFail: 2 }'),
  d(
    'a delayed key is never due',
    'queues/work-queue.ts',
    'else if (isFirst) this.#delay(entry);',
    'else if (isFirst) entry.dueAt = Number.POSITIVE_INFINITY;',
  ),
  // More of the hand-over.
  d(
    'parts are given away while a write is in flight',
    'sharding/ownership/ownership.ts',
    'return leaving ? writes.length === 0 : writes.every(({ server, app }) => this.#rights.mayWriteTo(server, app));',
    'return writes.length >= 0;',
  ),
  d(
    'a suspend of the machine is not noticed',
    'sharding/ownership/ownership.ts',
    'if (!this.#suspends.wasSuspended()) return false;',
    'if (this.#suspensions >= 0) return false;',
  ),
  // The end of a process.
  d('a timer is left after the end', 'sharding/ownership/ownership.ts', '.finally(() => this.#pauses.close());', ';'),
  d('the client of a cluster is not closed', 'kube/shared-clients.ts', 'await client.close();', ''),
  // Projects and settings.
  d(
    'a project permits every destination',
    'policy/project.ts',
    "if (verdict === 'denied') return false;\n    permitted ||= verdict === 'permitted';",
    'permitted = true;',
  ),
  d(
    'the list of forbidden kinds of a project is ignored',
    'policy/project.ts',
    'return !isListed(namespaceResourceBlacklist, gk, anyName, true);',
    'return true;',
  ),
  d(
    'deny windows of a project are ignored',
    'policy/windows.ts',
    'if (denies.length > 0) return isSyncExempt(denies, windows, trigger);',
    '',
  ),
  d(
    'no listener learns of changed settings',
    'settings/store.ts',
    '        listener(change);',
    '        listener.toString();',
  ),
  d(
    'the defaults hold while argocd-cm is deleted',
    'settings/in-force.ts',
    "if (known !== undefined) return { data: known, kept: [], vanished: 'deleted' };",
    'return { data: {}, kept: [] };',
  ),
  d(
    'a deletion gives up at once while its cluster cannot be resolved',
    'controller/operation/unresolved-deletion.ts',
    "if (leavesResources(app)) return { do: 'give up' };",
    "return { do: 'give up' };",
  ),
  d(
    'ignored differences of the settings are ignored',
    'settings/overrides.ts',
    'override[field] = readIgnoreRules(',
    'readIgnoreRules(',
  ),
  // Reporting.
  d(
    'the metrics show the sync status as health',
    'controller/report/app-families.ts',
    "health_status: app.status?.health?.status ?? 'Unknown',",
    "health_status: app.status?.sync?.status ?? 'Unknown',",
  ),
  d(
    'a gauge of one replica shows Applications of all',
    'controller/assembly/expose-metrics.ts',
    'const mine = ownApplications(triggers, apps);',
    'const mine = () => apps.list();',
  ),
  d(
    'no Event reports the end of an operation',
    'controller/operation/operation.ts',
    "      type: ok ? 'Normal' : 'Warning',\n      reason: 'OperationCompleted',",
    "      type: ok ? 'Normal' : 'Warning',\n      reason: 'OperationStarted',",
  ),
  d(
    'log lines show what was sent',
    'telemetry/log.ts',
    'return value === null ? null : plainObject(value, depth);',
    'return value;',
  ),
  // Queues and retries.
  d(
    'a failed key is not tried again',
    'queues/work-queue.ts',
    'requeue === undefined || entry.isDropped || this.#isShutDown ? undefined',
    "requeue === undefined || requeue.after === 'backoff' || entry.isDropped || this.#isShutDown ? undefined",
  ),
  d(
    'a rate-limited add is lost',
    'queues/work-queue.ts',
    'const delayMs = isWaiting ? Infinity :',
    'const delayMs = !isWaiting ? Infinity :',
  ),
  // Waits.
  d(
    'drift waits for Git',
    'controller/refresh/source-outage.ts',
    'return known.find(isUsable)?.revisions;',
    'return undefined;',
  ),
  d(
    'a long wait has no condition',
    'controller/triggers/wait-watch.ts',
    'if (message === shown) return;',
    'if (message !== undefined || shown === undefined) return;',
  ),
];

function d(name, file, from, to) {
  return { name, file, from, to };
}
