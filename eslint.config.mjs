import tseslint from 'typescript-eslint';
import { noNestedQuantifiers } from './scripts/lint/no-nested-quantifiers.mjs';

const ban = (name, message) => ({ name, message });

const bans = {
  'no-restricted-globals': [
    'error',
    ban('setTimeout', 'Use Clock.'),
    ban('setInterval', 'Use Clock.'),
    ban('fetch', 'Use #kube or desired.'),
  ],
  'no-restricted-properties': [
    'error',
    { object: 'Date', property: 'now', message: 'Inject Clock.' },
    { object: 'Math', property: 'random', message: 'Inject RandomSource.' },
    { object: 'process', property: 'env', message: 'Only cli/ reads the environment.' },
    { object: 'process', property: 'exit', message: 'Only cli/ ends the process.' },
    { object: 'AbortSignal', property: 'any', message: 'Leaks on a process-lifetime signal: use withChild of #base.' },
    { object: 'AbortSignal', property: 'timeout', message: 'Use withDeadline of #base.' },
  ],
  'no-restricted-syntax': [
    'error',
    { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: 'Inject Clock.' },
    { selector: 'ExportDefaultDeclaration', message: 'Named exports only.' },
    { selector: 'TSEnumDeclaration', message: 'Use a union of string literals.' },
    {
      selector: ':function > RestElement > ArrayPattern',
      message: 'A tuple is no way around max-params: make a value with a name.',
    },
    {
      selector: 'ObjectExpression > SpreadElement > ObjectExpression',
      message: 'Write the members out: a spread of a literal hides them.',
    },
  ],
};

/** Budgets of ARCHITECTURE.md: measured on the best code bases of the field. */
const budgets = {
  'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
  'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
  'max-params': ['error', 4],
  'max-depth': ['error', 3],
  complexity: ['error', 16],
};

const nodeGlobals = [
  ...['AbortController', 'AbortSignal', 'Buffer', 'URL', 'clearInterval', 'clearTimeout', 'console', 'fetch'],
  ...['performance', 'process', 'setInterval', 'setTimeout', 'structuredClone'],
];

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', 'build/**'] },
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { driftless: { rules: { 'no-nested-quantifiers': noNestedQuantifiers } } },
    rules: {
      ...bans,
      ...budgets,
      'driftless/no-nested-quantifiers': 'error',
      // Values and types of a module are imported by one statement each.
      'no-duplicate-imports': ['error', { allowSeparateTypeImports: true }],
      'no-console': 'error',
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-misused-spread': 'off',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    },
  },
  {
    // Scripts have no types, so unknown and unused names are found here.
    files: ['**/*.mjs'],
    languageOptions: { globals: Object.fromEntries(nodeGlobals.map((name) => [name, 'readonly'])) },
    plugins: { driftless: { rules: { 'no-nested-quantifiers': noNestedQuantifiers } } },
    rules: {
      ...budgets,
      'driftless/no-nested-quantifiers': 'error',
      'no-undef': 'error',
      'no-unused-vars': 'error',
      'no-duplicate-imports': 'error',
      'no-unreachable': 'error',
      'no-fallthrough': 'error',
      'no-else-return': 'error',
      'no-var': 'error',
      'object-shorthand': 'error',
      'prefer-const': 'error',
      'prefer-template': 'error',
      eqeqeq: 'error',
    },
  },
  {
    // Test suites are lists of cases: their length is no measure of complexity.
    files: ['**/*.test.ts', 'test/**', 'bench/**'],
    rules: {
      // Tests check our servers with plain fetch, independently of our own client.
      'no-restricted-globals': [
        'error',
        ban('setTimeout', 'Use FakeClock, or eventually.'),
        ban('setInterval', 'Use FakeClock, or eventually.'),
      ],
      'max-lines': 'off',
      'max-lines-per-function': 'off',
      'max-params': 'off',
      complexity: 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/explicit-module-boundary-types': 'off',
    },
  },
  {
    // The edge of the process, and the only sources of time and randomness.
    files: ['base/clock.ts', 'base/random.ts', 'cli/**', 'test/**', 'bench/**', 'desired/**/*-main.ts'],
    rules: { 'no-restricted-globals': 'off', 'no-restricted-properties': 'off', 'no-restricted-syntax': 'off' },
  },
  {
    // The page in the browser: its edge has time, storage and network.
    files: ['dashboard/ui/data/*.ts'],
    rules: { 'no-restricted-globals': 'off', 'no-restricted-properties': 'off' },
  },
  {
    files: ['**/*.ts', '**/*.tsx'],
    rules: {
      'max-len': [
        'error',
        { code: 1000, comments: 100, ignoreUrls: true, ignoreStrings: true, ignoreTemplateLiterals: true },
      ],
    },
  },
  {
    // The tokenizer of jq programs: its alternatives start with different characters, which the rule
    // does not recognize through two levels of groups.
    files: ['diff/jq/parse.ts'],
    rules: { 'driftless/no-nested-quantifiers': 'off' },
  },
);
