const choices = {
  'ignore replicas': {
    'resource.customizations.ignoreDifferences.apps_Deployment': 'jsonPointers:\n- /spec/replicas\n',
  },
  'ignore an editor': {
    'resource.customizations.ignoreDifferences.all': 'managedFieldsManagers:\n- editor\n',
  },
  'health of ConfigMaps': {
    'resource.customizations.health.ConfigMap': `hs = {}
hs.status = "Healthy"
if obj.data ~= nil and obj.data.color == "red" then
  hs.status = "Degraded"
  hs.message = "it is red"
end
return hs
`,
  },
  'health of Widgets': {
    'resource.customizations.health.example.com_Widget':
      'hs = {status = "Progressing", message = "color " .. tostring(obj.spec.color)}\nif obj.spec.color == "blue" then hs.status = "Healthy" end\nreturn hs\n',
  },
  'exclude Ingresses': {
    'resource.exclusions': '- apiGroups: [networking.k8s.io]\n  kinds: [Ingress]\n  clusters: ["*"]\n',
  },
  'label tracking': { 'application.resourceTrackingMethod': 'label' },
  'annotation and label': { 'application.resourceTrackingMethod': 'annotation+label' },
  'no impersonation': { 'application.sync.impersonation.enabled': 'false' },
} as const satisfies Record<string, Readonly<Record<string, string>>>;

/** A change of argocd-cm. */
export type SettingsName = keyof typeof choices;

export const settingsNames = Object.keys(choices) as readonly SettingsName[];

/** The keys of argocd-cm that it sets. */
export function settingsOf(name: SettingsName): Readonly<Record<string, string>> {
  return choices[name];
}
