/**
 * Are these the same amount? `0.5` and `500m` are: the server rewrites quantities into one canonical form, so a comparison
 * of texts would never come to rest.
 */
export const isSameQuantity = (desired: unknown, live: unknown): boolean =>
  isQuantity(desired) && isQuantity(live) && amount(desired) === amount(live);

const quantity = /^([+-]?\d+(?:\.\d+)?)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d+)?$/;

const isQuantity = (value: unknown): value is string | number =>
  (typeof value === 'string' && quantity.test(value)) || typeof value === 'number';

const units: Readonly<Record<string, number>> = {
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

const amount = (value: string | number): number => {
  const [, digits = '', unit = ''] = quantity.exec(String(value)) ?? [];
  return Number(digits) * (unit === '' ? 1 : (units[unit] ?? Number(`1${unit}`)));
};
