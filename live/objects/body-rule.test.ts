import { expect, it } from '@jest/globals';
import { bodyRule } from './body-rule.ts';

it('keeps bodies of Applications in owned parts; each Application is in exactly one part', () => {
  const rules = [0, 1, 2].map((part) => bodyRule({ of: 3, owned: [part], namespace: 'argocd' }));
  const names = Array.from({ length: 60 }, (_, i) => (i % 2 === 0 ? `app-${i}` : `team_app-${i}`));
  for (const name of names) expect(rules.filter((keeps) => keeps(name))).toHaveLength(1);
  for (const keeps of rules) expect(names.some(keeps)).toBe(true);
  // The two names of the same Application.
  for (const keeps of rules) expect(keeps('argocd_app-1')).toBe(keeps('app-1'));
  expect(names.every(bodyRule(undefined))).toBe(true);
});
