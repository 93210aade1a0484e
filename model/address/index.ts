export type { RefusedAddress } from './host.ts';
export { comparableAddress, looseNames } from './names.ts';
export { isArchive, isArtifact, isRefused, readAddress, readAnswerAddress, readSourceAddress } from './read.ts';
export type { AddressReading, AddressUse } from './read.ts';
// A type only: outside this folder no text becomes an address but by its readers.
export type { AddressScheme, SourceAddress, Transport } from './source-address.ts';
