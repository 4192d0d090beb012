import type { Clock } from '../../process/index.ts';
import type { Store } from '../../store/index.ts';
import type { Sealer } from '../keys/sealer.ts';

/** Leads one user to one sign-in at one identity provider. */
export interface Link {
  readonly id: string;
  readonly user: string;
  readonly provider: string;
  /** Milliseconds since the epoch. */
  readonly issuedAt: number;
}

export interface LinksDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly entropy: (bytes: number) => Buffer;
  readonly clock: Clock;
  readonly issuer: string;
  /** Whether what the user had at that time was ended. */
  readonly isEnded: (user: string, atMs: number) => Promise<boolean>;
}

export const LINK_MS = 10 * 60_000;
const ID_BYTES = 16;
/** Longest text that is looked at. */
const MAX_CHARACTERS = 2_048;

/**
 * Links are sealed texts, so that none takes room in the store until it is used, and none tells whose it is (MCP
 * "Elicitation", "Safe URL Handling").
 */
export class Links {
  readonly #deps: LinksDeps;

  constructor(deps: LinksDeps) {
    this.#deps = deps;
  }

  async make(user: string, provider: string): Promise<string> {
    const { sealer, entropy, clock } = this.#deps;
    const link: Link = { id: entropy(ID_BYTES).toString('base64url'), user, provider, issuedAt: clock.now() };
    return (await sealer.seal(Buffer.from(JSON.stringify(link)), this.#as)).toString('base64url');
  }

  /** Undefined: it is none of ours, or its time is over. */
  async open(text: string): Promise<Link | undefined> {
    if (text.length > MAX_CHARACTERS) return undefined;
    const { sealer, clock, isEnded } = this.#deps;
    const opened = await sealer.unseal(Buffer.from(text, 'base64url'), this.#as);
    const link = opened && (JSON.parse(opened.toString()) as Link);
    if (!link || clock.now() >= link.issuedAt + LINK_MS) return undefined;
    return (await isEnded(link.user, link.issuedAt)) ? undefined : link;
  }

  /** Uses the link up. False: it was used before. */
  use({ id }: Link): Promise<boolean> {
    return this.#deps.store.setIfAbsent(keyOf(id), Buffer.alloc(0), LINK_MS);
  }

  async isUsed({ id }: Link): Promise<boolean> {
    return (await this.#deps.store.get(keyOf(id))) !== undefined;
  }

  get #as(): string {
    return `link of ${this.#deps.issuer}`;
  }
}

const keyOf = (id: string): string => `used-link:${id}`;
