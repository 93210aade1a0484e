import type { Json } from '#base';
import type { KubeObject } from '#model';

const anything: Json = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** The CustomResourceDefinition of Widgets, which are namespaced and have one version. */
export function widgetCrd(group = 'example.com', openAPIV3Schema: Json = anything): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}
