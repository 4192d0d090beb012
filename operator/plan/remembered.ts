import { hashOf } from './canonical.ts';

/**
 * `make`, a pure function, called once for equal inputs: the last `atMost` different ones are remembered. Inputs are equal
 * when their canonical JSON is. Whoever makes one owns what it remembers.
 */
export const remembered = <In, Out>(make: (input: In) => Out, atMost: number): ((input: In) => Out) => {
  // Maps keep the order of insertion, so the first key is the one not asked for longest.
  const known = new Map<string, Out>();
  return (input) => {
    const key = hashOf(input);
    const answer = known.get(key) ?? make(input);
    known.delete(key);
    known.set(key, answer);
    const [oldest] = known.keys();
    if (known.size > atMost && oldest !== undefined) known.delete(oldest);
    return answer;
  };
};
