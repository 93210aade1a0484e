// The layers of the architecture: a module may import only from layers below its own.
// ARCHITECTURE.md shows the same list; test/architecture.test.ts compares the two.
export const layers = [
  ['base'],
  ['model', 'telemetry'],
  ['kube', 'queues', 'diff', 'health', 'policy'],
  ['settings', 'sharding', 'live', 'desired', 'sync', 'publish'],
  ['compare'],
  ['controller'],
  ['api'],
  ['cli'],
];
/** The folders of a large module, from below: each may import only from those before it. */
export const parts = {
  controller: [
    ['shared'],
    ['admission'],
    ['write', 'application', 'discovery'],
    ['clusters', 'comparison', 'report', 'recorder'],
    ['decide'],
    ['refresh', 'triggers'],
    ['operation'],
    ['replay'],
    ['assembly'],
    ['shadow'],
  ],
  diff: [
    ['shared', 'schema'],
    ['normalize'],
    ['patch', 'field-ownership', 'jq'],
    ['applied'],
    ['ignore'],
    ['respect', 'comparison'],
  ],
  'desired/fetch': [['shared'], ['files', 'network'], ['credentials', 'charts'], ['git', 'oci'], ['signatures']],
  'desired/generate': [['helm', 'directory', 'plugins'], ['kustomize']],
  live: [['objects'], ['store'], ['bytes', 'discovery'], ['watch'], ['queries']],
};

export const beside = ['sim', 'dashboard', 'engine', 'bench', 'test'];

/** The responses of the read API, and its words: they import nothing else. */
const wireFiles = '^api/(?:(?:application-|view-)?types[.]ts$|words/)';
const any = (names) => `^(?:${names.join('|')})/`;
const production = layers.flat();
const layerRules = layers.flatMap((layer, i) =>
  layer.map((name) => ({
    name: `layer-${i}-${name}`,
    severity: 'error',
    comment: `${name}/ is in layer ${i}: it may use only what lies below, never its neighbours or what is above.`,
    from: { path: `^${name}/`, pathNot: '[.]test[.]ts$' },
    to: { path: any(production.filter((n) => n !== name && !layers.slice(0, i).flat().includes(n))) },
  })),
);

const partRules = Object.entries(parts).flatMap(([module, order]) =>
  order.map((names, i) => ({
    name: `parts-of-${module}-${names.join('-')}`,
    severity: 'error',
    comment: `${module}/${names.join(' and ')} may import from the parts of ${module}/ that stand before it in the list.`,
    from: { path: `^${module}/(?:${names.join('|')})/`, pathNot: '[.]test[.]ts$' },
    to: { path: `^${module}/(?:${[...order.slice(i + 1).flat(), 'index[.]ts'].join('|')})` },
  })),
);

export default {
  forbidden: [
    ...layerRules,
    ...partRules,
    {
      name: 'pure-core',
      severity: 'error',
      comment: 'Decisions are plain functions of values: they may use base, model and policy, and no I/O module.',
      from: {
        path: '^(?:controller/application/(?:freshness|autosync|operation-state)|controller/comparison/(?:contest|last-writer)|sync/(?:plan|step|hooks|options)|sharding/distribution/(?:distribution|hash-ring)|settings/parse)[.]ts$|^(?:diff|health|policy|model|compare)/',
        pathNot: '[.]test[.]ts$',
      },
      to: {
        path: '^(?:kube|live|desired|sync/(?:run|task)|publish|telemetry|queues)/|^(?:node:)?(?:fs|net|http|https|http2|child_process|dgram|tls)$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'no-hooks-of-async-work',
      severity: 'error',
      comment:
        'AsyncLocalStorage makes each promise of Node 20 cost more than twice as much: only tracing, which is off by default, may use it.',
      from: { pathNot: '^telemetry/(?:tracing|testing)/' },
      to: { path: '^(?:node:)?async_hooks$' },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      comment:
        'A cycle means two files are one module, imports of types counted: merge them or extract the shared part.',
      from: {},
      to: { circular: true },
    },
    {
      name: 'only-through-the-public-interface',
      severity: 'error',
      comment:
        'Other folders are used through their index.ts, imported as #name; what they lend to tests, through that of testing/.',
      from: { path: '^([^/]+)/' },
      to: {
        path: any([...production, 'sim', 'dashboard']),
        pathNot: ['^$1/', '^[^/]+/(?:testing/)?index[.]ts$', wireFiles],
      },
    },
    {
      name: 'beside-stays-out',
      severity: 'error',
      comment:
        'Production code never imports the simulator, the dashboard, tests or benches; cli alone may load the first two.',
      from: { path: any(production.filter((n) => n !== 'cli')), pathNot: '[.]test[.]ts$|/testing/' },
      to: { path: any(beside) },
    },
    {
      name: 'testing-is-for-tests',
      severity: 'error',
      comment: 'What a module lends to tests is not part of the program.',
      from: { path: any(production), pathNot: '[.]test[.]ts$|/testing/' },
      to: { path: '^[^/]+/testing/' },
    },
    {
      name: 'witnesses-share-words-only',
      severity: 'error',
      comment:
        'sim and dashboard may use base, model and telemetry only: the simulator must be an independent witness, and the dashboard only a reader.',
      from: { path: '^(?:sim|dashboard)/', pathNot: '[.]test[.]ts$' },
      to: {
        path: any(production.filter((n) => !['base', 'model', 'telemetry'].includes(n))),
        pathNot: [wireFiles],
      },
    },
    {
      name: 'wire-files-are-for-readers',
      severity: 'error',
      comment:
        'The page in the browser and the commands that read the API use its types and words: #api would load the controller, half a second of CPU for each command. All others use #api.',
      from: { pathNot: '^(?:api|dashboard/ui|cli/(?:explain|top))/|^cli/commands/completion[.]ts$' },
      to: { path: wireFiles },
    },
    {
      name: 'the-page-is-on-its-own',
      severity: 'error',
      comment: 'The page is bundled for the browser: it knows the wire files of the read API and its own folder.',
      from: { path: '^dashboard/ui/', pathNot: '[.]test[.]tsx?$' },
      to: { pathNot: ['^dashboard/ui/', 'node_modules', wireFiles] },
    },
    {
      name: 'development-packages-are-for-tests',
      severity: 'error',
      comment: 'The image has only the packages of "dependencies", and the bundle of the page.',
      from: { path: any([...production, 'sim', 'dashboard']), pathNot: '[.]test[.]ts$|/testing/|^dashboard/ui/' },
      to: { dependencyTypes: ['npm-dev'] },
    },
    {
      name: 'client-node-in-one-place',
      severity: 'error',
      comment:
        'kube/config/client-node.ts alone loads @kubernetes/client-node: the build bundles there what is used of it (types elsewhere).',
      from: { pathNot: '^kube/config/client-node[.]ts$|[.](?:test|e2e)[.]ts$' },
      to: { path: '@kubernetes/client-node', dependencyTypesNot: ['type-only'] },
    },
    { name: 'not-to-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      conditionNames: ['source', 'import', 'node', 'default'],
      exportsFields: ['exports'],
      extensions: ['.ts', '.tsx', '.js', '.mjs'],
    },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist/' },
  },
};
