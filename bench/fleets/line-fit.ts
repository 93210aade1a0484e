export interface LineFit {
  /** Growth from one value to the next. */
  readonly slope: number;
  readonly mean: number;
  /** Standard deviation of the values from the line. */
  readonly noise: number;
}

/** The least-squares line through equally spaced values. */
export function fitLine(values: readonly number[]): LineFit {
  const count = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  const center = (count - 1) / 2;
  const spread = values.reduce((sum, _value, i) => sum + (i - center) ** 2, 0);
  const slope = spread === 0 ? 0 : values.reduce((sum, value, i) => sum + (i - center) * (value - mean), 0) / spread;
  const variance = values.reduce((sum, value, i) => sum + (value - mean - slope * (i - center)) ** 2, 0) / count;
  return { slope, mean, noise: Math.sqrt(variance) };
}
