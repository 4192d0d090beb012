import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import * as z from 'zod';
import type { Ports } from './ports.ts';

const portsSchema = z.record(z.string(), z.int().min(1).max(65_534));

/** What local mode remembers, and shows other programs, in `<dir>/.vmcp`. */
export interface StateFiles {
  readPorts(): Ports;
  writePorts(ports: Ports): void;
  writeStatus(text: string): void;
}

/** The files below `<directory>/.vmcp`, made at the first write. A file that cannot be read counts as empty. */
export const stateFiles = (directory: string): StateFiles => {
  const home = join(directory, '.vmcp');
  return {
    readPorts: () => portsSchema.safeParse(readYaml(join(home, 'ports.yaml'))).data ?? {},
    writePorts: (ports) => replaceFile(home, 'ports.yaml', stringify(ports, { sortMapEntries: true })),
    writeStatus: (text) => replaceFile(home, 'status.yaml', text),
  };
};

/** Unreadable or broken: as if it were not there, for it is only a memory. */
const readYaml = (path: string): unknown => {
  try {
    return parse(readFileSync(path, 'utf8')) as unknown;
  } catch {
    return undefined;
  }
};

/** By rename, so that a reader never sees half of it. */
const replaceFile = (home: string, name: string, text: string): void => {
  makeHome(home);
  const fresh = join(home, `.${name}.new`);
  writeFileSync(fresh, text);
  renameSync(fresh, join(home, name));
};

/** Parent directories are not created: a directory that the user has moved away must not come back empty. */
const makeHome = (home: string): void => {
  try {
    mkdirSync(home);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
};
