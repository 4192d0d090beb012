/** Tells what the operator wrote, whichever replica or release of it, from what others did. */
export interface Seal {
  readonly of: (text: string) => string;
  readonly isOf: (seal: string, text: string) => boolean;
}
