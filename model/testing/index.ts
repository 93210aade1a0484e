import { isRefused, readAddress } from '../index.ts';
import type { AddressUse, SourceAddress } from '../index.ts';

/** The address of a text that has one. */
export function addressOf(text: string, use: AddressUse = 'any'): SourceAddress {
  const address = readAddress(text, use);
  if (isRefused(address)) throw new Error(`${text}: ${address.refused}`);
  return address;
}
