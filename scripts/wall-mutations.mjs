/**
 * Mutations of the rules that keep tenants apart (isolation, pruning, fair shares) for
 * scripts/mutation-gate.mjs: `from` occurs exactly once in `file`. Each names the test that must
 * kill it.
 */
export const wallMutations = [
  m(
    'a file parameter names several values',
    'desired/generate/helm/parameters.ts',
    ' && others.length === 0)',
    ')',
    by('desired/generate/helm/parameters.test.ts', '"a=x,b" is refused'),
  ),
  m(
    'the addresses that a connection uses are not checked',
    'desired/fetch/network/denied-networks.ts',
    'await check(host, addresses);',
    '',
    by('desired/fetch/network/denied-networks.test.ts', 'are not reached when a DNS answer changes after the check'),
  ),
  m(
    'incomplete discovery does not block pruning',
    'controller/discovery/capabilities.ts',
    '    pruneBlocked,\n',
    '',
    by('controller/discovery/capabilities.test.ts', 'blocks pruning, with a condition when it makes a difference'),
  ),
  m(
    'a scoped cluster Secret may win',
    'settings/cluster-index.ts',
    'Number(isScoped(a)) - Number(isScoped(b)) || ',
    '',
    by(
      'settings/cluster-index.test.ts',
      'a scoped one takes no cluster over, however low its UID and however old it is',
    ),
  ),
  m(
    'projects do not take turns',
    'desired/render/shares.ts',
    'return [runsOf.get(projectKey) ?? 0, this.#turns.of(projectKey),',
    'return [0, 0,',
    by('desired/render/shares.test.ts', 'are not multiplied by naming many repositories in one project'),
  ),
];

// eslint-disable-next-line max-params -- the columns of a table
function m(name, file, from, to, killer) {
  return { name, file, from, to, by: killer };
}

function by(file, test) {
  return { file, test };
}
