/** Details of an Application whose Deployment differs in two fields. */
export const drifted = {
  isAutomated: false,
  automatedSync: { decision: 'skip' as const, reason: 'automated sync is off', checks: [] },
  differencesTotal: 1,
  resources: { synced: 11, outOfSync: 1, unknown: 0 },
  differences: [
    {
      group: 'apps',
      version: 'v1',
      kind: 'Deployment',
      namespace: 'web',
      name: 'web',
      state: 'modified' as const,
      faults: [],
      ignored: [],
      fields: [
        {
          path: '/spec/replicas',
          desired: '3',
          live: '5',
          isMasked: false,
          changedBy: {
            manager: 'kubectl-scale',
            operation: 'Update',
            subresource: 'scale',
            time: new Date(Date.now() - 120_000).toISOString(),
            isOurs: false,
          },
        },
        {
          path: '/spec/template/spec/containers/0/image',
          desired: '"web:1.4"',
          live: '"web:1.5-hotfix"',
          isMasked: false,
        },
      ],
    },
  ],
};
