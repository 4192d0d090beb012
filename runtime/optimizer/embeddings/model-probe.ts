import { hash as digest } from 'node:crypto';

/**
 * A text that is embedded with every request: its vector shows which model has made the others. Names do not, as a
 * service may be given another model under the same one.
 */
export const PROBE = 'dimension';

/** The same model gives about the same vector, whatever else is in the batch; others have nothing in common. */
const LEAST_COSINE = 0.95;

/** Whether two vectors of the probe are of one model. */
export const isSameModel = (one: Float32Array, other: Float32Array): boolean => {
  if (one.length !== other.length) return false;
  let [product, squares, otherSquares] = [0, 0, 0];
  for (let at = 0; at < one.length; at += 1) {
    const [value, otherValue] = [one[at] ?? 0, other[at] ?? 0];
    product += value * otherValue;
    squares += value * value;
    otherSquares += otherValue * otherValue;
  }
  return product >= LEAST_COSINE * Math.sqrt(squares * otherSquares);
};

/** What vectors of a model are kept under: `probe` is the vector by which all replicas know it. */
export const modelKeyOf = (modelName: string, probe: Float32Array): string =>
  `${modelName} ${digest('sha256', Buffer.from(probe.buffer, probe.byteOffset, probe.byteLength), 'base64url')}`;
