export type ImageSizes = Readonly<Record<'unpacked' | 'packed', number>>;

export const sizeLimitsMb: ImageSizes;
export function sizesOf(archive: string): Promise<ImageSizes>;
export function tooBig(sizes: ImageSizes, limits?: ImageSizes): string[];
