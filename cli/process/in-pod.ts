/** Whether this process runs in a pod of a cluster. */
export function isInPod(env: Readonly<Record<string, string | undefined>>): boolean {
  return (env['KUBERNETES_SERVICE_HOST'] ?? '') !== '';
}
