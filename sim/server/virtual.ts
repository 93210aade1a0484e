import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import type { KindDefinition } from '../types.ts';
import { asJson } from './fields.ts';
import type { ServedKind } from './registry.ts';

/** Kinds that are asked, not stored: the answer is the posted object with a status. Everybody may do everything here. */
const questions: readonly { readonly group: string; readonly kind: string; readonly namespaced?: boolean }[] = [
  { group: 'authentication.k8s.io', kind: 'SelfSubjectReview' },
  { group: 'authentication.k8s.io', kind: 'TokenReview' },
  { group: 'authorization.k8s.io', kind: 'LocalSubjectAccessReview', namespaced: true },
  { group: 'authorization.k8s.io', kind: 'SelfSubjectAccessReview' },
  { group: 'authorization.k8s.io', kind: 'SelfSubjectRulesReview' },
  { group: 'authorization.k8s.io', kind: 'SubjectAccessReview' },
];

export const virtualKinds: readonly KindDefinition[] = questions.map(({ group, kind, namespaced }) => ({
  group,
  version: 'v1',
  kind,
  listKind: '',
  resource: `${kind.toLowerCase()}s`,
  singular: kind.toLowerCase(),
  shortNames: [],
  categories: [],
  namespaced: namespaced === true,
  verbs: ['create'],
  statusSubresource: false,
  custom: false,
}));

export function isVirtual(kind: ServedKind): boolean {
  return questions.some((question) => question.group === kind.group && question.kind === kind.kind);
}

const user = { username: 'sim:admin', groups: ['system:masters', 'system:authenticated'] } as const;

/** The answer to a review. */
export function answer(kind: ServedKind, object: KubeObject): JsonObject {
  const body = { ...asJson(object), metadata: { creationTimestamp: null } };
  return { ...body, status: statusOf(kind.kind) };
}

function statusOf(kind: string): Json {
  switch (kind) {
    case 'SelfSubjectReview':
      return { userInfo: user };
    case 'TokenReview':
      return { authenticated: true, user };
    case 'SelfSubjectRulesReview':
      return {
        incomplete: false,
        resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
        nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
      };
    default:
      return { allowed: true, reason: 'the simulated cluster lets everybody do everything' };
  }
}
