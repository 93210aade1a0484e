/**
 * Expected deviations of a comparison from the server, by patterns of TrialTally.wrong, with
 * reasons.
 */
export const explained: readonly (readonly [pattern: RegExp, why: string])[] = [
  [
    /^(client|server)-side: (changed in|removed from) Git, no difference, but found: (certificates\.k8s\.io\/\S+ CertificateSigningRequest\/\S+ spec|v1 Namespace\/\S+ spec\.finalizers|v1 Node\/\S+ spec\.podCIDRs?|internal\.apiserver\.k8s\.io\/\S+ StorageVersion\/\S+ spec)/,
    'the server ignores the change silently: Git differs, and an apply does not change the object',
  ],
  [
    /^(client|server)-side: removed from Git, no difference, but found: v1 Service\/\S+ spec\.(clusterIP|ports\.\d+\.nodePort|healthCheckNodePort|ipFamil)/,
    'the server keeps an allocated address or port of a Service: a difference until the sync, after which no manager owns it',
  ],
  [
    /^(client|server)-side: removed from Git, no difference, but found: \S+ \S+ (\S+\.)?spec\.serviceAccountName/,
    'the server defaults it from serviceAccount, the old name of the field: a difference until the sync, after which no manager owns it',
  ],
  [
    /^(client|server)-side: changed in Git, no difference, but found: apiextensions\.k8s\.io\/\S+ CustomResourceDefinition\/\S+ spec\.versions\.\d+\.subresources\.status:/,
    'the server drops unknown fields, and publishes no schema of this struct without fields: a difference, as in Argo CD',
  ],
  [
    /^client-side: removed from Git, no difference, but found: v1 Secret\/\S+ stringData/,
    'the server moves stringData into data without its owner: what Git drops stays, and stays a difference, as in Argo CD',
  ],
];
