import { createHash } from 'node:crypto';

/** A digest of these texts, in which an absent one is not an empty one. */
export const digestOf = (texts: readonly (string | undefined)[]): string =>
  createHash('sha256')
    .update(JSON.stringify(texts.map((text) => text ?? null)))
    .digest('base64url');
