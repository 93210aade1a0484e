import { isObject } from '#base';
import { check, mustBeNonEmptyText } from '../options/checks.ts';

const readers = ['getCurrentContext', 'getContextObject', 'getCluster', 'getUser'];

/** For the table of the options that extend `ClusterAddress`. */
export const addressChecks = {
  kubeConfig: check(
    `a path, a KubeConfig of @kubernetes/client-node or an object with ${readers.join(', ')}`,
    (value) =>
      typeof value === 'string' ||
      (isObject(value) && readers.every((name) => typeof Reflect.get(value, name) === 'function')),
  ),
  context: mustBeNonEmptyText,
};
