/** How many arguments a function takes, the value from a pipeline included. */
export interface ArgumentCount {
  readonly least: number;
  readonly most: number;
}

const exactly = (count: number): ArgumentCount => ({ least: count, most: count });
const atLeast = (least: number): ArgumentCount => ({ least, most: Infinity });

/** The functions of templates: https://pkg.go.dev/text/template "Functions" without `call`, and three of our own. */
export const FUNCTION_ARGUMENTS: ReadonlyMap<string, ArgumentCount> = new Map([
  ['and', atLeast(1)],
  ['or', atLeast(1)],
  ['not', exactly(1)],
  ['eq', atLeast(2)],
  ['ne', exactly(2)],
  ['lt', exactly(2)],
  ['le', exactly(2)],
  ['gt', exactly(2)],
  ['ge', exactly(2)],
  ['index', atLeast(1)],
  ['slice', { least: 1, most: 4 }],
  ['len', exactly(1)],
  ['print', atLeast(0)],
  ['printf', atLeast(1)],
  ['println', atLeast(0)],
  ['html', atLeast(0)],
  ['js', atLeast(0)],
  ['urlquery', atLeast(0)],
  ['json', exactly(1)],
  ['fromJson', exactly(1)],
  ['quote', exactly(1)],
]);
