import { seal, unseal } from '../../process/index.ts';
import { deriveKey, oncePerSecret, type Secrets } from './secrets.ts';

/** Seals what is kept elsewhere, with keys of one purpose: the current secret seals, each opens. */
export interface Sealer {
  /** `as`: what the text is. As another thing it does not open. */
  readonly seal: (text: Buffer, as: string) => Promise<Buffer>;
  /** Undefined: it does not open. */
  readonly unseal: (sealed: Buffer, as: string) => Promise<Buffer | undefined>;
}

export interface SealerDeps {
  readonly secrets: Secrets;
  /** Random bytes that nobody can guess. */
  readonly entropy: (bytes: number) => Buffer;
}

export const sealerFor = (purpose: string, { secrets, entropy }: SealerDeps): Sealer => {
  const keyOf = oncePerSecret((secret) => deriveKey(secret, purpose));
  return {
    seal: async (text, as) => {
      const [current] = await secrets();
      if (!current) throw new Error('there is no HMAC secret');
      return seal(text, { key: keyOf(current), as: Buffer.from(as) }, entropy);
    },
    unseal: async (sealed, as) => {
      for (const secret of await secrets()) {
        const text = unseal(sealed, { key: keyOf(secret), as: Buffer.from(as) });
        if (text) return text;
      }
      return undefined;
    },
  };
};
