/** What `initialize` agreed on. */
export interface InitializedClient {
  /** The protocol revision. */
  readonly revision: string;
  /** JSON text of `params.capabilities`. */
  readonly capabilities: Buffer;
}
