/** Quantities of resources, and numbers that may be percentages. */
const units: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

export function quantity(text: string | number | undefined): number {
  if (text === undefined) return 0;
  const match = /^([0-9.]+(?:e[0-9+-]+)?)([a-zA-Z]*)$/.exec(String(text));
  const unit = units[match?.[2] ?? ''];
  return match === null || unit === undefined ? 0 : Number(match[1]) * unit;
}

/** A number as it is, or a percentage of `total`. */
export function scaled(value: number | string, total: number, rounding: 'up' | 'down'): number {
  if (typeof value === 'number') return value;
  const share = (Number(value.replace('%', '')) * total) / 100;
  return rounding === 'up' ? Math.ceil(share) : Math.floor(share);
}
