import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import type { KindDefinition, SimOptions } from '../../types.ts';
import { asJsonObject } from '../fields.ts';
import type { ServedKind } from './registry.ts';

/**
 * Review kinds, which are not stored: the response is the posted object with a status. Everything
 * is allowed unless {@link SimOptions.review} decides otherwise.
 */
const reviewKinds: readonly { readonly group: string; readonly kind: string; readonly namespaced?: boolean }[] = [
  { group: 'authentication.k8s.io', kind: 'SelfSubjectReview' },
  { group: 'authentication.k8s.io', kind: 'TokenReview' },
  { group: 'authorization.k8s.io', kind: 'LocalSubjectAccessReview', namespaced: true },
  { group: 'authorization.k8s.io', kind: 'SelfSubjectAccessReview' },
  { group: 'authorization.k8s.io', kind: 'SelfSubjectRulesReview' },
  { group: 'authorization.k8s.io', kind: 'SubjectAccessReview' },
];

export const reviewKindDefinitions: readonly KindDefinition[] = reviewKinds.map(({ group, kind, namespaced }) => ({
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

export function isReviewKind(kind: ServedKind): boolean {
  return reviewKinds.some((question) => question.group === kind.group && question.kind === kind.kind);
}

const simUser = { username: 'sim:admin', groups: ['system:masters', 'system:authenticated'] } as const;

/** The response to a review; `decide` may give its status. */
export function answerReview(kind: ServedKind, object: KubeObject, decide: SimOptions['review']): JsonObject {
  const body = { ...asJsonObject(object), metadata: { creationTimestamp: null } };
  return { ...body, status: decide?.(object) ?? reviewStatus(kind.kind) };
}

function reviewStatus(kind: string): Json {
  switch (kind) {
    case 'SelfSubjectReview':
      return { userInfo: simUser };
    case 'TokenReview':
      return { authenticated: true, user: simUser };
    case 'SelfSubjectRulesReview':
      return {
        incomplete: false,
        resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
        nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
      };
    default:
      return { allowed: true, reason: 'the simulated cluster allows everything' };
  }
}
