/** Dimensions of the stand-in's vectors, as of common embedding models. */
export const DIMENSIONS = 1_024;

const WORDS = /[\p{L}\p{N}]+/gu;
/** Half of any English text. */
const COMMON = new Set(
  'a an and are as at be by for from in is it of on or that the this to use with you your'.split(' '),
);
const GRAM_LENGTHS = [3, 4, 5];
const WHOLE_WORD = 1;
const GRAM = 0.3;

/**
 * A stand-in for an embedding model, since none can be had without its weights: words and the character n-grams inside
 * of them are hashed to dimensions and signs, as fastText and the hashing trick do, without anything learnt. Texts are
 * near when they share words or parts of words; of synonyms it knows nothing.
 */
export const subwordVector = (text: string): readonly number[] => {
  const vector = new Float64Array(DIMENSIONS);
  const add = (feature: string, weight: number): void => {
    const hash = fnv1a(feature);
    const at = hash % DIMENSIONS;
    vector[at] = (vector[at] ?? 0) + (hash & 0x8000_0000 ? weight : -weight);
  };
  for (const [feature, weight] of featuresOf(text)) add(feature, Math.sqrt(weight));
  return Array.from(vector);
};

const featuresOf = (text: string): ReadonlyMap<string, number> => {
  const features = new Map<string, number>();
  const count = (feature: string, weight: number): void => {
    features.set(feature, (features.get(feature) ?? 0) + weight);
  };
  const spaced = text.replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2').toLowerCase();
  for (const [word] of spaced.matchAll(WORDS)) {
    if (COMMON.has(word)) continue;
    count(word, WHOLE_WORD);
    const bordered = `<${word}>`;
    for (const length of GRAM_LENGTHS)
      for (let at = 0; at + length <= bordered.length; at += 1) count(bordered.slice(at, at + length), GRAM ** 2);
  }
  return features;
};

/** FNV-1a of 32 bits, over UTF-16 code units. */
const fnv1a = (text: string): number => {
  let hash = 0x811c_9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193);
  // The last multiplication mixes low bits into high ones only; the sign and the dimension want all of them.
  return (hash ^ (hash >>> 15)) >>> 0;
};
