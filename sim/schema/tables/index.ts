import { parseTypeTables } from '../type-table.ts';
import type { TypeTable } from '../type-table.ts';
import { coordinationV1, discoveryV1, eventsV1, networkingV1, rbacV1, schedulingV1, storageV1 } from './cluster.ts';
import { coreV1 } from './core.ts';
import { admissionregistrationV1, apiextensionsV1, apiregistrationV1 } from './extension.ts';
import { metaV1 } from './meta.ts';
import { appsV1, autoscalingV1, autoscalingV2, batchV1, policyV1 } from './workloads.ts';

/** All types of the built-in kinds by their OpenAPI name. */
export const typeTable: TypeTable = parseTypeTables([
  metaV1,
  coreV1,
  appsV1,
  batchV1,
  autoscalingV1,
  autoscalingV2,
  policyV1,
  networkingV1,
  rbacV1,
  coordinationV1,
  discoveryV1,
  storageV1,
  schedulingV1,
  eventsV1,
  admissionregistrationV1,
  apiextensionsV1,
  apiregistrationV1,
]);
