// The test files that `npm test` leaves to other steps of `.ci/run`.

/**
 * Test files that take minutes together: they start processes, wait for leases, crash at every
 * await or change every field. `.ci/run` runs them. The tests beside the code cover the same
 * behaviour on a smaller scale.
 */
export const slow = [
  'bench/bench.test.ts',
  'bench/live/cold-start.test.ts',
  'cli/admin/admin.test.ts',
  'cli/admin/reconcile-results.test.ts',
  'cli/preflight/preflight.test.ts',
  'cli/shards/shards.test.ts',
  'controller/comparison/jq-runner.test.ts',
  'controller/crash.test.ts',
  'controller/poison.test.ts',
  'controller/refresh/contests.test.ts',
  'controller/storm.test.ts',
  'controller/write/stalled.test.ts',
  'desired/command/command.test.ts',
  'desired/fetch/git/git-addresses.test.ts',
  'desired/fetch/git/git-http.test.ts',
  'desired/fetch/git/submodules.test.ts',
  'desired/fetch/signatures/verifier.test.ts',
  'desired/generate/plugins/plugins.test.ts',
  'desired/held-inputs.test.ts',
  'desired/hydrate/git-committer.test.ts',
  'desired/keeping.test.ts',
  'desired/render/server.test.ts',
  'desired/render/wall.test.ts',
  'desired/source-work.test.ts',
  'desired/thousand-applications.test.ts',
  'diff/comparison/kinds.test.ts',
  'diff/ignore/rule-budget.test.ts',
  'live/sim.test.ts',
  'test/acceptance/agent.test.ts',
  'test/acceptance/bad-input.test.ts',
  'test/acceptance/capabilities.test.ts',
  'test/acceptance/claims.test.ts',
  'test/acceptance/cli.test.ts',
  'test/acceptance/deletion.test.ts',
  'test/acceptance/demo.test.ts',
  'test/acceptance/fair-rules.test.ts',
  'test/acceptance/fair-shares.test.ts',
  'test/acceptance/fair-tenants.test.ts',
  'test/acceptance/found.test.ts',
  'test/acceptance/hand-over.test.ts',
  'test/acceptance/hostile.test.ts',
  'test/acceptance/hydrator.test.ts',
  'test/acceptance/ignore-differences.test.ts',
  'test/acceptance/incidents/degraded.test.ts',
  'test/acceptance/incidents/syncs.test.ts',
  'test/acceptance/incidents/writers.test.ts',
  'test/acceptance/kubectl.test.ts',
  'test/acceptance/migration.test.ts',
  'test/acceptance/operations.test.ts',
  'test/acceptance/projects.test.ts',
  'test/acceptance/prune.test.ts',
  'test/acceptance/published.test.ts',
  'test/acceptance/respect-rbac.test.ts',
  'test/acceptance/scoped-clusters.test.ts',
  'test/acceptance/scrape.test.ts',
  'test/acceptance/secrets.test.ts',
  'test/acceptance/server-side-diff.test.ts',
  'test/acceptance/shadow.test.ts',
  'test/acceptance/sources.test.ts',
  'test/chaos/',
  'test/conformance/',
  'test/fuzz.test.ts',
  'test/recordings/recordings.test.ts',
];
/** Steps of their own in `.ci/run`: the benchmarks, and the long run. */
export const elsewhere = ['bench/smoke.test.ts', 'diff/comparison/mutations.test.ts'];
/** A process with a small heap under attack: V8 gives up where other tests take its CPU time. */
export const alone = ['test/chaos/hostile-cluster.test.ts'];
/** Slow test files that need helm, kustomize or jsonnet, some of them only for a part. */
export const withTools = [
  'desired/fetch/network/kinds-of-sources.test.ts',
  'desired/bad-input.test.ts',
  'desired/generate/directory/jsonnet.test.ts',
  'desired/generate/helm/chart-sources.test.ts',
  'desired/generate/helm/dependencies.test.ts',
  'desired/generate/helm/helm.test.ts',
  'desired/generate/helm/hostile.test.ts',
  'desired/generate/helm/strvals.test.ts',
  'desired/generate/kustomize/hostile.test.ts',
  'desired/generate/kustomize/kustomize.test.ts',
  'test/acceptance/hostile-sources.test.ts',
];
/** Other test files that leave tests out where helm, kustomize or jsonnet is missing. */
export const partlyWithTools = [
  'desired/fetch/oci/oci-sources.test.ts',
  'engine/desired.test.ts',
  'test/acceptance/capabilities.test.ts',
];
