import type { PrinterColumn } from './kind.ts';

export const VALID_COLUMN: PrinterColumn = {
  name: 'Valid',
  path: ".status.conditions[?(@.type=='Valid')].status",
};
export const READY_COLUMN: PrinterColumn = {
  name: 'Ready',
  path: ".status.conditions[?(@.type=='Ready')].status",
};
export const AGE_COLUMN: PrinterColumn = { name: 'Age', path: '.metadata.creationTimestamp', type: 'date' };
export const REFERENCES_COLUMN: PrinterColumn = {
  name: 'References',
  path: '.status.referenceCount',
  type: 'integer',
};
