/** By UTF-16 code units, so that the order depends on no locale. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
