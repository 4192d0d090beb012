/** Longest text of one policy, and of all policies with their entities, in characters. */
export const MAX_POLICY_LENGTH = 64 * 1024;
export const MAX_POLICIES_LENGTH = 256 * 1024;

/**
 * Cedar reads a policy recursively and its stack is small: beyond some 200 levels its memory is damaged instead of an
 * error being reported. So the depth is estimated before Cedar gets the text.
 */
const MAX_DEPTH = 150;
const BRACKET_DEPTH = 2;

/** Strings, comments, `&&` and `||` (which Cedar reads in a loop), words, and all other characters. */
const TOKENS = /"(?:[^"\\]|\\.)*"|\/\/[^\n]*|&&|\|\||[=!<>]=|[A-Za-z_][A-Za-z0-9_]*|::|[^\s]/gs;

/** Operators read so far inside of one pair of brackets: those that form the outer tree, and those of one operand. */
interface Level {
  logic: number;
  operand: number;
}

const depthOf = ({ logic, operand }: Level): number => logic + operand;

/** Whether the text is nested more deeply than Cedar can be trusted with; an estimate that is never too low. */
export const isTooDeep = (text: string): boolean => {
  const levels: Level[] = [{ logic: 0, operand: 0 }];
  let outer = 0;
  for (const [token] of text.matchAll(TOKENS)) {
    const level = levels.at(-1) ?? { logic: 0, operand: 0 };
    switch (token) {
      case '(':
      case '[':
      case '{':
        level.operand += 1;
        outer += depthOf(level) + BRACKET_DEPTH;
        levels.push({ logic: 0, operand: 0 });
        break;
      case ')':
      case ']':
      case '}':
        outer -= closed(levels);
        break;
      case ',':
        level.logic = 0;
        level.operand = 0;
        break;
      case '&&':
      case '||':
        level.logic += 1;
        level.operand = 0;
        break;
      case 'if':
      case 'then':
      case 'else':
        level.logic += 1;
        break;
      case '::':
        break;
      default:
        if (!/^["\w/]/.test(token) || token === 'in' || token === 'has' || token === 'like' || token === 'is')
          level.operand += 1;
    }
    if (outer + depthOf(levels.at(-1) ?? level) > MAX_DEPTH) return true;
  }
  return false;
};

/** Leaves a pair of brackets and returns how much less deep the text is from here on. */
const closed = (levels: Level[]): number => {
  if (levels.length === 1) return 0;
  levels.pop();
  const [outermost] = levels;
  const parent = levels.at(-1);
  if (!parent || !outermost) return 0;
  const depth = depthOf(parent) + BRACKET_DEPTH;
  // The scope and each condition of a policy stand beside one another.
  if (parent === outermost) [parent.logic, parent.operand] = [0, 0];
  return depth;
};
