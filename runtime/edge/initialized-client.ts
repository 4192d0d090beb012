/** What `initialize` agreed on. */
export interface InitializedClient {
  /** The protocol revision. */
  readonly revision: string;
  /** JSON text of `params.capabilities`. */
  readonly capabilities: Buffer;
  /** `params.clientInfo.name`; absent where it is none, or a long one. */
  readonly clientName?: string | undefined;
}
