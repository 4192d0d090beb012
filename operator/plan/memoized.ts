import { createHash } from 'node:crypto';
import { canonicalJson } from './canonical.ts';

/** Characters of all inputs together: what is made of them takes about as much memory. */
const MAX_INPUT_CHARACTERS = 8 * 1024 * 1024;

interface Known<Out> {
  readonly answer: Out;
  readonly size: number;
}

/**
 * `make`, a pure function, called once for equal inputs: the last `atMost` different ones are remembered, as far as
 * their inputs hold 8 Mi characters. Inputs are equal when their canonical JSON is. Whoever makes one owns what it
 * remembers.
 */
export const memoized = <In, Out>(
  make: (input: In) => Out,
  atMost: number,
  maxInputCharacters = MAX_INPUT_CHARACTERS,
): ((input: In) => Out) => {
  // Maps keep the order of insertion, so the first key is the one not asked for longest.
  const known = new Map<string, Known<Out>>();
  let together = 0;
  const drop = (key: string): void => {
    together -= known.get(key)?.size ?? 0;
    known.delete(key);
  };
  return (input) => {
    const text = canonicalJson(input);
    const key = createHash('sha256').update(text).digest('base64');
    const { answer } = known.get(key) ?? { answer: make(input) };
    drop(key);
    known.set(key, { answer, size: text.length });
    together += text.length;
    for (const oldest of known.keys()) {
      if (known.size <= atMost && together <= maxInputCharacters) break;
      drop(oldest);
    }
    return answer;
  };
};
