import { chart, configMap, deployment, template } from './case.ts';
import type { CorpusCase } from './case.ts';

const ksops = `apiVersion: viaduct.ai/v1
kind: ksops
metadata:
  name: secrets
  annotations:
    config.kubernetes.io/function: |
      exec: {path: ksops}
files: [secret.enc.yaml]
`;

/** Sources that only one of the two renders: rows of docs/compatibility.md. */
export const differingCases: readonly (CorpusCase & {
  readonly own: RegExp | undefined;
  readonly theirs: RegExp | undefined;
})[] = [
  {
    // The case `login-https` has read this repository with other credentials before.
    name: 'differs-other-login',
    source: { at: 'https', path: 'directory-flat', repository: { username: 'nobody' } },
    own: /failed to authenticate/,
    theirs: undefined,
  },
  {
    name: 'differs-short-ref',
    repositories: { r: { 'a.yaml': configMap('a') } },
    source: { at: 'git:r', path: '.', targetRevision: 'heads/main' },
    own: undefined,
    theirs: /unable to resolve 'heads\/main' to a commit SHA/,
  },
  {
    name: 'differs-values-pattern',
    files: chart({
      'templates/cm.yaml': template({ all: '{{ toJson .Values | quote }}' }),
      'envs/a.yaml': 'a: 1\n',
      'envs/deep/b.yaml': 'b: 2\n',
    }),
    source: { helm: { valueFiles: ['envs/**'] } },
    own: undefined,
    theirs: /is a directory/,
  },
  {
    name: 'differs-ref-revisions',
    repositories: {
      r: { ...chart({ 'templates/cm.yaml': template({ all: '{{ toJson .Values | quote }}' }) }), 'v.yaml': 'a: 1\n' },
    },
    sources: [
      { at: 'git:r', path: '.', targetRevision: 'v1.0.0', helm: { valueFiles: ['$side/v.yaml'] } },
      { at: 'git:r', ref: 'side', targetRevision: 'side' },
    ],
    own: undefined,
    theirs: /different revision of the same repository/,
  },
  {
    name: 'differs-ref-revisions-of-others',
    files: chart({ 'templates/cm.yaml': template({ all: '{{ toJson .Values | quote }}' }) }),
    repositories: { r: { 'v.yaml': 'a: 1\n' } },
    sources: [
      { path: 'differs-ref-revisions-of-others', helm: { valueFiles: ['$one/v.yaml', '$two/side.yaml'] } },
      { at: 'git:r', ref: 'one', targetRevision: 'v1.0.0' },
      { at: 'git:r', ref: 'two', targetRevision: 'side' },
    ],
    own: undefined,
    theirs: /side\.yaml/,
  },
  {
    name: 'differs-linked-kustomization',
    files: {
      'base/kustomization.yaml': 'namePrefix: p-\nresources: [c.yaml]\n',
      'app/c.yaml': configMap('c'),
      'app/kustomization.yaml': '-> ../base/kustomization.yaml',
    },
    source: { path: 'differs-linked-kustomization/app' },
    own: undefined,
    theirs: /unable to find one of 'kustomization\.yaml'/,
  },
  {
    name: 'differs-replicas-without-count',
    files: {
      'kustomization.yaml': 'resources: [app.yaml]\n',
      'app.yaml': deployment('web'),
      '.argocd-source.yaml': 'kustomize: {replicas: [{name: web}]}\n',
    },
    own: /expected integer value for count\. Received: $/,
    theirs: undefined,
  },
  {
    name: 'differs-exec-generator',
    files: { 'kustomization.yaml': 'generators: [g.yaml]\n', 'g.yaml': ksops, 'secret.enc.yaml': 'a: b\n' },
    buildOptions: '--enable-alpha-plugins --enable-exec',
    own: /"secrets" \(ksops of viaduct\.ai\/v1\) runs the program "ksops", and the renderer starts no programs/,
    theirs: /"ksops": executable file not found/,
  },
];

/** Sources in which only Driftless finds objects. */
export const onlyOurs: readonly CorpusCase[] = [
  {
    name: 'ours-linked-path',
    files: { 'real/a.yaml': configMap('a'), here: '-> real' },
    source: { path: 'ours-linked-path/here' },
  },
];
