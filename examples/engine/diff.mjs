// Shows the paths that applying a manifest would change, and a rule that ignores one.
import { diffObjects, diffRules } from '@driftless/engine/diff';

const target = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    replicas: 2,
    template: { spec: { containers: [{ name: 'web', image: 'web:2', resources: { limits: { cpu: '1000m' } } }] } },
  },
};
const live = {
  ...target,
  spec: {
    replicas: 5,
    template: { spec: { containers: [{ name: 'web', image: 'web:1', resources: { limits: { cpu: '1' } } }] } },
  },
};

const { modified, paths } = diffObjects(target, live, diffRules());
console.log(modified, paths.join(' '));

const ignoreDifferences = [{ group: 'apps', kind: 'Deployment', jsonPointers: ['/spec/replicas'] }];
console.log(diffObjects(target, live, diffRules({ ignoreDifferences })).paths.join(' '));
