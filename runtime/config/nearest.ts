/**
 * The one of `words` that was probably meant by `word`, ignoring case, hyphens and underscores; undefined when none is
 * close.
 */
export function nearest(word: string, words: readonly string[]): string | undefined {
  const wanted = plain(word);
  let best: { readonly word: string; readonly distance: number } | undefined;
  for (const candidate of words) {
    const distance = distanceOf(wanted, plain(candidate));
    if (best === undefined || distance < best.distance) best = { word: candidate, distance };
  }
  if (best === undefined || best.word === '') return undefined;
  return best.distance <= Math.max(1, Math.floor(wanted.length / 3)) ? best.word : undefined;
}

const plain = (word: string): string => word.slice(0, 64).toLowerCase().replaceAll(/[-_]/g, '');

/** Levenshtein distance. */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
