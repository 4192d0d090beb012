import { amountOf } from '../quantity.ts';

/**
 * Are these the same amount? `0.5` and `500m` are: the server rewrites quantities into one canonical form, so a comparison
 * of texts would never come to rest.
 */
export const isSameQuantity = (desired: unknown, live: unknown): boolean => {
  const amount = amountOf(desired);
  return amount !== undefined && amount === amountOf(live);
};
