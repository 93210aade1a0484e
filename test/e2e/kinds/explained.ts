/** Where a comparison says something else than the server does, and why that is right. By the texts of a Tally. */
export const explained: readonly (readonly [pattern: RegExp, why: string])[] = [
  [
    /^(client|server)-side: (changed in|removed from) Git, no difference, but found: (certificates\.k8s\.io\/\S+ CertificateSigningRequest\/\S+ spec|v1 Namespace\/\S+ spec\.finalizers|v1 Node\/\S+ spec\.podCIDRs?|internal\.apiserver\.k8s\.io\/\S+ StorageVersion\/\S+ spec)/,
    'the server keeps what it has, without a word: Git says something else, and an apply does not change it',
  ],
  [
    /^(client|server)-side: removed from Git, no difference, but found: v1 Service\/\S+ spec\.(clusterIP|ports\.\d+\.nodePort|healthCheckNodePort|ipFamil)/,
    'the server keeps an address or a port that it has given to a Service: a difference until the sync, which makes it that of nobody',
  ],
  [
    /^(client|server)-side: removed from Git, no difference, but found: \S+ \S+ (\S+\.)?spec\.serviceAccountName/,
    'the server fills it in again from serviceAccount, the old name of the field, which it has written itself: a difference until the sync, which makes it that of nobody',
  ],
  [
    /^(client|server)-side: changed in Git, no difference, but found: apiextensions\.k8s\.io\/\S+ CustomResourceDefinition\/\S+ spec\.versions\.\d+\.subresources\.status:/,
    'the server drops fields that it does not know, and publishes nothing of this struct, which has none: a difference, as in Argo CD',
  ],
  [
    /^client-side: removed from Git, no difference, but found: v1 Secret\/\S+ stringData/,
    'the server folds stringData into data and forgets whose it was: what Git has dropped of it stays, and stays a difference, as in Argo CD',
  ],
];
