export type { RefusedAddress } from './host.ts';
export { comparableAddress, looseNames } from './names.ts';
export { isArchive, isArtifact, isRefused, readAddress, readSourceAddress } from './read.ts';
export type { AddressReading, AddressUse } from './read.ts';
export { SourceAddress } from './source-address.ts';
export type { AddressScheme, Transport } from './source-address.ts';
