/**
 * model: the vocabulary. Applications, projects, clusters, repositories, settings, resource keys,
 * tracking ids and status codes, with Argo CD's names. Plain immutable values and pure functions of
 * them, without I/O.
 */
export * from './address/index.ts';
export * from './annotations.ts';
export * from './application.ts';
export * from './cluster.ts';
export * from './decryption.ts';
export * from './confidential.ts';
export * from './deferred-object.ts';
export * from './hooks.ts';
export * from './kind-places.ts';
export * from './log-fields.ts';
export * from './names.ts';
export * from './object.ts';
export * from './parts.ts';
export * from './project.ts';
export * from './content-id.ts';
export * from './repository.ts';
export * from './settings.ts';
export * from './status.ts';
export * from './tracking.ts';
