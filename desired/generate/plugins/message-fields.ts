/**
 * Counts the fields of a protobuf message, without creating anything for them: a decoder makes a
 * string of each text, so an answer of empty texts would expand to many times its size. Stops
 * counting above `max`. Reads strictly, so that a decoder cannot see more fields than this.
 * @throws Error for a malformed message, or a number that takes more bits than it may
 */
export function countFields(bytes: Uint8Array, max: number): number {
  let at = 0;
  const byte = (): number => {
    const value = bytes[at];
    if (value === undefined) throw malformed();
    at += 1;
    return value;
  };
  const uint32 = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const next = byte();
      value += (next & 127) * scale;
      if (value > 0xffff_ffff) throw malformed();
      if (next < 128) return value;
      if (scale >= 128 ** 4) throw malformed();
    }
  };
  const skip: Readonly<Record<number, () => void>> = {
    0: () => {
      while (byte() >= 128);
    },
    1: () => void (at += 8),
    2: () => {
      const length = uint32();
      at += length;
    },
    5: () => void (at += 4),
  };
  let count = 0;
  for (; at < bytes.length && count <= max; count += 1) {
    const field = skip[uint32() % 8];
    if (field === undefined) throw malformed();
    field();
    if (at > bytes.length) throw malformed();
  }
  return count;
}

function malformed(): Error {
  return new Error('it is malformed');
}
