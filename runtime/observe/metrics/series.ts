import { clipped } from '../../text.ts';
import { type Labels, MAX_SERIES, MAX_VALUES } from './meter.ts';

/** What one series has counted. */
export interface Cell {
  readonly labels: Readonly<Record<string, string>>;
  /** The value; of a histogram, the sum of all values. */
  value: number;
  /** Of a histogram: the number of values in each bucket, the last one being those above all bounds. */
  readonly counts: number[];
}

/** One level for each label, by its values. */
type Level = Map<string | undefined, Level | Cell>;

const MAX_CHARACTERS = 128;

const OTHER = 'other';

/**
 * The series of one counter or histogram. A series that is there is found by one look-up for each label, since every
 * call is counted.
 */
export class SeriesSet {
  readonly #names: readonly string[];
  readonly #buckets: number;
  readonly #root: Level = new Map();
  readonly #known: readonly Set<string>[];
  readonly cells: Cell[] = [];

  /** `buckets`: their number, the last one included; 0 where there are none. */
  constructor(names: readonly string[], buckets: number) {
    this.#names = names;
    this.#buckets = buckets;
    this.#known = names.map(() => new Set());
    // A number without labels is shown from the beginning.
    if (names.length === 0) this.#add([]);
  }

  cellOf(values: Labels<string>): Cell {
    let level: Level | Cell | undefined = this.#root;
    for (const name of this.#names) {
      level = (level as Level).get(values[name]);
      if (level === undefined) return this.#boundedCell(values);
    }
    return this.#names.length === 0 ? (this.cells[0] ?? this.#add([])) : (level as Cell);
  }

  /** The cell of values that were not seen together before, or are too many to be told apart. */
  #boundedCell(values: Labels<string>): Cell {
    const bounded = this.#names.map((name, at) => this.#bounded(values[name], at));
    const found = this.#find(bounded);
    if (found) return found;
    if (this.cells.length < MAX_SERIES) return this.#add(bounded);
    const others = this.#names.map(() => OTHER);
    return this.#find(others) ?? this.#add(others);
  }

  #bounded(value: string | undefined, at: number): string | undefined {
    if (value === undefined || value === '') return undefined;
    const known = this.#known[at];
    const shown = clipped(value, MAX_CHARACTERS);
    if (known?.has(shown)) return shown;
    if (!known || known.size >= MAX_VALUES) return OTHER;
    known.add(shown);
    return shown;
  }

  #find(values: readonly (string | undefined)[]): Cell | undefined {
    let level: Level | Cell | undefined = this.#root;
    for (const value of values) level = (level as Level | undefined)?.get(value);
    return values.length === 0 ? this.cells[0] : (level as Cell | undefined);
  }

  #add(values: readonly (string | undefined)[]): Cell {
    const pairs = values.flatMap((value, at) => (value === undefined ? [] : [[this.#names[at], value] as const]));
    const cell: Cell = {
      labels: Object.fromEntries(pairs) as Record<string, string>,
      value: 0,
      counts: Array.from({ length: this.#buckets }, () => 0),
    };
    this.cells.push(cell);
    let level = this.#root;
    values.forEach((value, at) => {
      const isLast = at === values.length - 1;
      const next = isLast ? cell : (level.get(value) ?? (new Map() as Level));
      level.set(value, next);
      if (!isLast) level = next as Level;
    });
    return cell;
  }
}
