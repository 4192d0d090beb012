/**
 * Kubernetes: resource quantities (`500m`, `0.5`, `10Gi`, `1e3`), as far as they are amounts that a cluster may have.
 */
const QUANTITY = /^([+-]?(?:\d+\.?\d*|\.\d+))(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d{1,2})?$/;

/** In characters. */
const MAX_CHARACTERS = 32;

const UNITS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** How much it is; undefined when it is no quantity, or beyond all measure. */
export const amountOf = (value: unknown): number | undefined => {
  if (typeof value === 'number') return Math.abs(value) < 1e100 ? value : undefined;
  const [, digits, unit = ''] =
    typeof value === 'string' && value.length <= MAX_CHARACTERS ? (QUANTITY.exec(value) ?? []) : [];
  return digits === undefined ? undefined : Number(digits) * (unit === '' ? 1 : (UNITS[unit] ?? Number(`1${unit}`)));
};
