/**
 * settings: what the administrators configured. argocd-cm, cluster Secrets, repository Secrets, watched and parsed into immutable
 * values. A malformed entry spoils itself only, with a message that names the key.
 */
export type { SettingsStore } from './types.ts';
