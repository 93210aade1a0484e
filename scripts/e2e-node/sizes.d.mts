export type ImageSizes = Readonly<Record<'unpacked' | 'packed', number>>;

export const sizeLimitsMb: ImageSizes;
export function sizesOf(archives: Readonly<Record<keyof ImageSizes, string>>): ImageSizes;
export function tooBig(sizes: ImageSizes, limits?: ImageSizes): string[];
