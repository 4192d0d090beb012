/** Who wants to hear of a resource. */
export interface ResourceListener {
  readonly onUpdated: () => void;
  /** From now on nothing is told of it, since its backend is no longer served. */
  readonly onEnd: () => void;
}

export interface Watching {
  /** False when it will not be told of: the backend has refused, does not answer, or too much is watched there. */
  readonly isHeard: Promise<boolean>;
  readonly stop: () => void;
}
