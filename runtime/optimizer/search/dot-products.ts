/**
 * Dot products of one vector with many, in 128-bit SIMD instructions, which JavaScript has only through WebAssembly: 15
 * times as fast as a loop over a typed array. The module below is written out instruction by instruction (WebAssembly
 * Core Specification 2.0, section 5.4 "Instructions"); it has one function and one memory.
 */

/** Numbers of a row are a multiple of it: what one round of the inner loop takes. */
export const ROW_UNIT = 32;
const PAGE_BYTES = 65_536;

/** Rows of 8-bit numbers, and one query of 16-bit numbers, of `length` each, in the memory of the module. */
export interface DotProducts {
  /** Capacity in rows; what is written into `row` and `query` is kept when it grows. */
  readonly reserve: (rows: number) => void;
  readonly row: (index: number) => Int8Array;
  readonly query: () => Int16Array;
  /** Products of the query with the first `count` rows; valid until the next call. */
  readonly compute: (count: number) => Int32Array;
}

/** Products stay below 2^31 where the length of the query times that of a row does. */
export const dotProducts = (length: number): DotProducts => {
  if (length % ROW_UNIT !== 0) throw new RangeError(`rows of ${length} numbers, not of a multiple of ${ROW_UNIT}`);
  const { memory, dot } = new WebAssembly.Instance(compiled()).exports as Exports;
  const rowsStart = length * Int16Array.BYTES_PER_ELEMENT;
  let capacity = 0;
  // Results lie behind the rows: they need not be kept when the memory grows.
  const resultsStart = (): number => rowsStart + capacity * length;
  return {
    reserve: (rows) => {
      capacity = Math.max(capacity, rows);
      const needed = resultsStart() + capacity * Int32Array.BYTES_PER_ELEMENT;
      const missing = Math.ceil((needed - memory.buffer.byteLength) / PAGE_BYTES);
      if (missing > 0) memory.grow(missing);
    },
    row: (index) => new Int8Array(memory.buffer, rowsStart + index * length, length),
    query: () => new Int16Array(memory.buffer, 0, length),
    compute: (count) => {
      const start = resultsStart();
      if (count > 0 && length > 0) dot(rowsStart, start, start + count * Int32Array.BYTES_PER_ELEMENT, length);
      return new Int32Array(memory.buffer, start, count);
    },
  };
};

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer; readonly grow: (pages: number) => void };
  readonly dot: (rows: number, results: number, resultsEnd: number, length: number) => void;
}

/** What is used of it; the types of Node do not have it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

let shared: object | undefined;
const compiled = (): object => (shared ??= new WebAssembly.Module(new Uint8Array(moduleBytes())));

type Bytes = readonly number[];

const unsigned = (value: number): Bytes => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)]);
const sized = (bytes: Bytes): Bytes => [...unsigned(bytes.length), ...bytes];
const section = (id: number, bytes: Bytes): Bytes => [id, ...sized(bytes)];
const named = (name: string): Bytes => sized([...Buffer.from(name)]);

const I32 = 0x7f;
const V128 = 0x7b;
const END = 0x0b;
const ADD = 0x6a;
const DROP = 0x1a;
const simd = (opcode: number): Bytes => [0xfd, ...unsigned(opcode)];
const get = (local: number): Bytes => [0x20, local];
const set = (local: number): Bytes => [0x21, local];
/** A load of 16 bytes (`v128.load`), or of 8 that become 16 (`v128.load8x8_s`). */
const load = (local: number, opcode: number, offset: number): Bytes => [...get(local), ...simd(opcode), 3, offset];
/** Constants are signed LEB128: two bytes hold those below 8,192. */
const constant = (value: number): Bytes => [0x41, (value & 0x7f) | 0x80, value >> 7];
/** local += value, which stays on the stack. */
const advance = (local: number, value: number): Bytes => [...get(local), ...constant(value), ADD, 0x22, local];
/** Repeats the body as long as the number that it leaves on the stack is below the local. */
const repeatWhileBelow = (end: number, body: Bytes): Bytes => [0x03, 0x40, ...body, ...get(end), 0x49, 0x0d, 0, END];

/** Parameters, then locals. */
const [ROW, RESULT, RESULTS_END, LENGTH, QUERY, ROW_END, SUM] = [0, 1, 2, 3, 4, 5, 6] as const;

/** sum += eight numbers of the row × eight of the query: `i32x4.dot_i16x8_s`, `i32x4.add`. */
const multiply = (at: number): Bytes => [
  ...get(SUM),
  ...load(ROW, 0x01, at),
  ...load(QUERY, 0x00, at * 2),
  ...simd(0xba),
  ...simd(0xae),
  ...set(SUM),
];

const lane = (index: number): Bytes => [...get(SUM), ...simd(0x1b), index];

const oneRow = (): Bytes => [
  ...simd(0x0c),
  ...Array.from({ length: 16 }, () => 0),
  ...set(SUM),
  ...constant(0),
  ...set(QUERY),
  ...get(ROW),
  ...get(LENGTH),
  ADD,
  ...set(ROW_END),
  ...repeatWhileBelow(ROW_END, [
    ...[0, 8, 16, 24].flatMap(multiply),
    ...advance(QUERY, 2 * ROW_UNIT),
    DROP,
    ...advance(ROW, ROW_UNIT),
  ]),
  // i32.store of the four lanes together.
  ...get(RESULT),
  ...lane(0),
  ...[1, 2, 3].flatMap((index) => [...lane(index), ADD]),
  0x36,
  2,
  0,
  ...advance(RESULT, Int32Array.BYTES_PER_ELEMENT),
];

const moduleBytes = (): Bytes => [
  ...named('\0asm').slice(1),
  1,
  0,
  0,
  0,
  ...section(1, [1, 0x60, ...sized([I32, I32, I32, I32]), 0]),
  ...section(3, [1, 0]),
  ...section(5, [1, 0, 1]),
  ...section(7, [2, ...named('memory'), 2, 0, ...named('dot'), 0, 0]),
  ...section(10, [1, ...sized([2, 2, I32, 1, V128, ...repeatWhileBelow(RESULTS_END, oneRow()), END])]),
];
