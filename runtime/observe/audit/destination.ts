import {
  close as closeFile,
  constants,
  fstat as statOfOpen,
  open as openFile,
  stat as statOfPath,
  type Stats,
  write as writeTo,
} from 'node:fs';
import { promisify } from 'node:util';
import { type Clock, sleep } from '../../process/index.ts';

/** Where lines are written. One write at a time. */
export interface Destination {
  /** Most bytes of one write. */
  readonly writeBytes: number;
  /** Writes whole lines. Never rejects: `written` bytes have been written before the error. */
  readonly write: (lines: Buffer) => Promise<Written>;
  readonly close: () => Promise<void>;
}

export interface Written {
  readonly written: number;
  readonly error?: unknown;
}

const [open, write, close, fstat, stat] = [
  promisify(openFile),
  promisify(writeTo),
  promisify(closeFile),
  promisify(statOfOpen),
  promisify(statOfPath),
];

/** POSIX `PIPE_BUF` of Linux: so many bytes come through a pipe in one piece, whoever else writes to it. */
const PIPE_BYTES = 4_096;
const FILE_BYTES = 256 * 1024;

/** A pipe that is full, or a file of a medium that is: tried again after this time. */
const FULL_MS = 10;

/** How often a file is looked for under its path, since it may have been renamed. */
const CHECK_MS = 1_000;

const STDOUT = 1;

/**
 * Standard output. A pipe is opened anew, so that a full one is an error (`EAGAIN`) instead of a blocked thread: that
 * would keep the process from ending. Other processes that have the same pipe notice nothing.
 */
export const standardOutput = (clock: Clock): Destination => {
  let opened: Promise<number> | undefined;
  const openedOnce = (): Promise<number> => (opened ??= openStdout());
  return {
    writeBytes: PIPE_BYTES,
    write: async (lines) => writeAll(await openedOnce(), lines, clock),
    close: async () => {
      const fd = await opened;
      if (fd !== undefined && fd !== STDOUT) await close(fd);
    },
  };
};

const openStdout = async (): Promise<number> => {
  try {
    // A file must go on at its end, which only the given descriptor knows; a terminal needs no other one.
    if (!(await fstat(STDOUT)).isFIFO()) return STDOUT;
    return await open(`/proc/self/fd/${STDOUT}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return STDOUT;
  }
};

/**
 * Writes all; waits as long as a pipe is full. An event that is written in two parts is continued, since nobody else
 * has the rest.
 */
const writeAll = async (fd: number, lines: Buffer, clock: Clock): Promise<Written> => {
  let written = 0;
  while (written < lines.length) {
    try {
      written += (await write(fd, lines, written, lines.length - written)).bytesWritten;
    } catch (error) {
      if (!isFull(error)) return { written, error };
      await sleep(clock, FULL_MS);
    }
  }
  return { written };
};

const isFull = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EAGAIN';

/** Appends, creates with 0600, and never waits for somebody to read a FIFO. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOCTTY | constants.O_NONBLOCK;
const MODE = 0o600;

/**
 * The file at `path`, opened at the first write. Once a second it is looked up there: where the path has another file,
 * or none, the file there is opened or created, so that a rename by logrotate needs no signal. A file that was
 * truncated (`copytruncate`) is continued at its new end.
 */
export const auditFile = (path: string, clock: Clock): Destination => new AuditFile(path, clock);

interface OpenFile {
  readonly fd: number;
  readonly stats: Stats;
}

class AuditFile implements Destination {
  readonly writeBytes = FILE_BYTES;
  readonly #path: string;
  readonly #clock: Clock;
  #file: OpenFile | undefined;
  #checkedAt = -Infinity;
  /** The last write has left a part of a line behind. */
  #isTorn = false;

  constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
  }

  readonly write = async (lines: Buffer): Promise<Written> => {
    try {
      const { fd } = await this.#current();
      if (this.#isTorn) await write(fd, '\n');
      this.#isTorn = false;
      const result = await writeAll(fd, lines, this.#clock);
      const last = result.written === 0 ? undefined : lines[result.written - 1];
      this.#isTorn = last !== undefined && last !== NEW_LINE;
      return result;
    } catch (error) {
      return { written: 0, error };
    }
  };

  readonly close = async (): Promise<void> => {
    const file = this.#file;
    this.#file = undefined;
    if (file) await close(file.fd);
  };

  async #current(): Promise<OpenFile> {
    const now = this.#clock.now();
    if (this.#file && now - this.#checkedAt < CHECK_MS) return this.#file;
    this.#checkedAt = now;
    if (this.#file && (await this.#isStillThere(this.#file))) return this.#file;
    await this.close();
    const fd = await open(this.#path, FLAGS, MODE);
    this.#isTorn = false;
    this.#file = { fd, stats: await fstat(fd) };
    return this.#file;
  }

  async #isStillThere({ stats }: OpenFile): Promise<boolean> {
    try {
      const { dev, ino } = await stat(this.#path);
      return dev === stats.dev && ino === stats.ino;
    } catch {
      return false;
    }
  }
}

const NEW_LINE = 0x0a;
