/**
 * What is counted of a text, in the order of a feature vector. Tokenizers first cut a text into words, runs of digits, of
 * punctuation and of blanks, and then cut the longer ones further: so runs are counted, and what is long in them, and
 * characters of each script. What each costs is the estimator's business.
 */
export const TEXT_FEATURES = [
  'words', // runs of Latin letters at the start of a text, after a blank or a line break
  'gluedWords', // after anything else: punctuation, digits, other scripts
  'capitals', // of these, with a capital first
  'humps', // new words inside of one, as in camelCase
  'upper', // capitals after the first in a row
  'letters5to8', // the fifth to eighth letter of a word
  'letters9to14',
  'lettersPast14',
  'hardLetters', // j, k, q, x, z: rare in English, and in what vocabularies were made from
  'latin1', // accented letters by how common they are
  'latinExtended',
  'latinAdditional', // Vietnamese, mostly
  'digitRuns',
  'digitGroups', // begun threes of digits
  'digits',
  'digitsAfterBlank', // runs of digits after a blank
  'mixed', // letters and digits where they change all the time: base64, hex
  'marks', // runs of ASCII punctuation
  'marksMore', // further characters in them
  'marksSame', // further characters equal to the one before: rules such as -----
  'lines', // runs of line breaks
  'linesAfterMarks', // the same after punctuation
  'linesMore', // further line breaks
  'indents', // runs of blanks at the start of a line
  'gaps', // runs of blanks elsewhere, of more than one
  'blanks', // blanks after the second of a run
  'cyrillic', // the Russian letters
  'cyrillicExtended', // all others
  'cyrillicWords',
  'greek',
  'arabic', // the Arabic letters
  'arabicExtended', // vowel signs, and what Persian, Urdu and Kurdish added
  'hebrew',
  'devanagari',
  'indic', // other scripts of India
  'thai',
  'rareLetters', // all other alphabets
  'scriptWords', // runs of letters of the scripts that set blanks between words, but for Latin and Cyrillic
  'hangul',
  'kana',
  'ideographs',
  'wide', // wide punctuation
  'typography', // dashes, curly quotes, signs such as § and °
  'symbols', // arrows, boxes, mathematics, control characters
  'emoji', // halves of surrogate pairs
] as const;

type Feature = (typeof TEXT_FEATURES)[number];

/** Classes of characters. Of the ASCII marks those that come in long runs have one of their own. */
const RULES = ['-', '=', '*', '#', '_', '.', '/'] as const;
const SCRIPTS = ['cyrillic', 'cyrillicExtended', 'greek', 'arabic', 'arabicExtended', 'hebrew', 'devanagari', 'indic', 'thai', 'rareLetters', 'hangul', 'kana', 'ideographs'] as const;
const OTHERS = ['wide', 'typography', 'symbols', 'emoji'] as const;
const ACCENTED = ['latin1', 'latinExtended', 'latinAdditional'] as const;
const CLASSES = ['lower', 'hardLetters', 'upper', 'digit', 'blank', 'tab', 'line', 'mark', ...RULES, ...ACCENTED, ...SCRIPTS, ...OTHERS] as const;
type Class = (typeof CLASSES)[number];

/** First code of each range above ASCII, and its class, up to the next range. */
const RANGES: readonly (readonly [number, Class])[] = [
  [0x80, 'typography'], [0xc0, 'latin1'], [0x100, 'latinExtended'], [0x250, 'symbols'], [0x370, 'greek'], [0x400, 'cyrillicExtended'], [0x401, 'cyrillic'],
  [0x402, 'cyrillicExtended'], [0x410, 'cyrillic'], [0x450, 'cyrillicExtended'], [0x451, 'cyrillic'], [0x452, 'cyrillicExtended'],
  [0x530, 'rareLetters'], [0x590, 'hebrew'], [0x600, 'arabic'], [0x64b, 'arabicExtended'],
  [0x700, 'rareLetters'], [0x750, 'arabicExtended'], [0x780, 'rareLetters'],
  [0x8a0, 'arabicExtended'], [0x900, 'devanagari'], [0x980, 'indic'], [0xe00, 'thai'], [0xe80, 'rareLetters'], [0x1100, 'hangul'],
  [0x1200, 'rareLetters'], [0x1e00, 'latinAdditional'], [0x1f00, 'greek'], [0x2000, 'typography'], [0x2070, 'symbols'],
  [0x2e80, 'ideographs'], [0x3000, 'wide'], [0x3040, 'kana'], [0x3100, 'ideographs'], [0x3130, 'hangul'], [0x3190, 'ideographs'],
  [0xa000, 'rareLetters'], [0xac00, 'hangul'], [0xd7b0, 'symbols'], [0xd800, 'emoji'], [0xe000, 'symbols'], [0xf900, 'ideographs'],
  [0xfb00, 'arabicExtended'], [0xfe00, 'symbols'], [0xff00, 'wide'], [0xff66, 'kana'], [0xffa0, 'hangul'], [0xffe0, 'symbols'],
];

/** The class of each UTF-16 code unit, as a column of the table of transitions. */
export const SCRIPT_CLASS: Uint8Array = classTable();

function classTable(): Uint8Array {
  const table = new Uint8Array(65_536);
  for (let code = 0; code < 128; code++) table[code] = CLASSES.indexOf(asciiClass(String.fromCharCode(code)));
  RANGES.forEach(([first, name], i) => table.fill(CLASSES.indexOf(name), first, RANGES[i + 1]?.[0] ?? 65_536));
  return table;
}

function asciiClass(char: string): Class {
  if (/[a-z]/.test(char)) return /[jkqxz]/.test(char) ? 'hardLetters' : 'lower';
  if (/[A-Z]/.test(char)) return 'upper';
  if (/[0-9]/.test(char)) return 'digit';
  if (char === '\t') return 'tab';
  if (/\s/.test(char)) return char === ' ' ? 'blank' : 'line';
  if (char < ' ' || char === '\x7f') return 'symbols';
  return RULES.find((rule) => rule === char) ?? 'mark';
}

/**
 * What the run that goes on is. `length`: of the piece, as far as it matters. `switches`: how often the run went from letters
 * to digits, back, or to a capital after one or two characters; at two of them it is taken for base64 or the like.
 */
type Run =
  | { readonly kind: 'none' | 'blank' | 'gap' | 'line' | 'indent' | 'mixed' }
  | Piece
  | { readonly kind: 'of'; readonly name: Class };

interface Piece {
  readonly kind: 'lower' | 'upper' | 'digits';
  readonly length: number;
  readonly switches: number;
}

interface Step {
  readonly run: Run;
  readonly counts: readonly Feature[];
}

const MIXED_FROM = 2;
const SHORT = 2;
const MAX_LETTERS = 15;
const MAX_UPPER = 4;

function step(run: Run, name: Class): Step {
  switch (name) {
    case 'lower':
    case 'upper':
      return letter(run, name);
    case 'hardLetters':
    case 'latin1':
    case 'latinExtended':
    case 'latinAdditional':
      return also(letter(run, 'lower'), name);
    case 'digit':
      return digit(run);
    case 'blank':
    case 'tab':
      return blank(run, name);
    case 'line':
      return line(run);
    case 'mark':
    case '-':
    case '=':
    case '*':
    case '#':
    case '_':
    case '.':
    case '/':
      return mark(run, name);
    default:
      return other(run, name);
  }
}

function also({ run, counts }: Step, feature: Feature): Step {
  return { run, counts: [...counts, feature] };
}

function letter(run: Run, as: 'lower' | 'upper'): Step {
  if (run.kind === 'mixed') return { run, counts: ['mixed'] };
  if (run.kind === 'lower' && as === 'lower') return grown(run.length + 1, run.switches);
  if (run.kind === 'upper' && as === 'upper') return { run: { ...run, length: Math.min(MAX_UPPER, run.length + 1) }, counts: ['upper'] };
  // A capital begins a word; of several, the last one does.
  if (run.kind === 'upper') return { run: { kind: 'lower', length: 2, switches: run.switches }, counts: run.length > 1 ? ['humps'] : [] };
  const begun: Piece = { kind: as, length: 1, switches: 0 };
  if (run.kind === 'lower' || run.kind === 'digits') return switched(run, begun, run.kind === 'lower' ? ['humps'] : ['gluedWords']);
  const start = run.kind === 'of' ? 'gluedWords' : 'words';
  return { run: begun, counts: as === 'upper' ? [start, 'capitals'] : [start] };
}

function grown(length: number, switches: number): Step {
  const counts: Feature[] = length < 5 ? [] : [length < 9 ? 'letters5to8' : length < 15 ? 'letters9to14' : 'lettersPast14'];
  return { run: { kind: 'lower', length: Math.min(MAX_LETTERS, length), switches }, counts };
}

/** From letters to digits, back, or to a capital. */
function switched(from: Piece, to: Piece, counts: readonly Feature[]): Step {
  const switches = from.length <= SHORT ? from.switches + 1 : from.switches;
  return switches >= MIXED_FROM ? { run: { kind: 'mixed' }, counts: ['mixed'] } : { run: { ...to, switches }, counts };
}

/** The length goes 1, 2, 3, then round 4, 5, 6: what matters is the place in a group of three and whether the run is short. */
function digit(run: Run): Step {
  if (run.kind === 'mixed') return { run, counts: ['mixed'] };
  if (run.kind === 'digits') {
    const length = run.length === 6 ? 4 : run.length + 1;
    return { run: { ...run, length }, counts: length === 4 ? ['digits', 'digitGroups'] : ['digits'] };
  }
  const begun: Piece = { kind: 'digits', length: 1, switches: 0 };
  const counts: Feature[] = ['digits', 'digitGroups', 'digitRuns'];
  if (run.kind === 'lower' || run.kind === 'upper') return switched(run, begun, counts);
  return { run: begun, counts: run.kind === 'blank' || run.kind === 'gap' ? [...counts, 'digitsAfterBlank'] : counts };
}

function blank(run: Run, name: 'blank' | 'tab'): Step {
  if (run.kind === 'gap' || run.kind === 'indent') return { run, counts: ['blanks'] };
  if (run.kind === 'line') return { run: { kind: 'indent' }, counts: ['indents'] };
  if (run.kind === 'blank' || name === 'tab') return { run: { kind: 'gap' }, counts: ['gaps'] };
  return { run: { kind: 'blank' }, counts: [] };
}

function line(run: Run): Step {
  const feature = run.kind === 'line' ? 'linesMore' : run.kind === 'of' && isMark(run.name) ? 'linesAfterMarks' : 'lines';
  return { run: { kind: 'line' }, counts: [feature] };
}

function isMark(name: Class): boolean {
  return name === 'mark' || RULES.some((rule) => rule === name);
}

function mark(run: Run, name: Class): Step {
  const of: Run = { kind: 'of', name };
  if (run.kind !== 'of' || !isMark(run.name)) return { run: of, counts: ['marks'] };
  return { run: of, counts: [name !== 'mark' && run.name === name ? 'marksSame' : 'marksMore'] };
}

type Script = (typeof SCRIPTS)[number] | (typeof OTHERS)[number];
const WITHOUT_WORDS: ReadonlySet<Class> = new Set(['thai', 'kana', 'ideographs', ...OTHERS]);

/** Letters of one alphabet make one word. */
const ALPHABET: Readonly<Partial<Record<Script, Class>>> = { cyrillicExtended: 'cyrillic', arabicExtended: 'arabic' };

function other(run: Run, script: Script): Step {
  const name = ALPHABET[script] ?? script;
  const of: Run = { kind: 'of', name };
  if (WITHOUT_WORDS.has(name) || (run.kind === 'of' && run.name === name)) return { run: of, counts: [script] };
  return { run: of, counts: [script, name === 'cyrillic' ? 'cyrillicWords' : 'scriptWords'] };
}

/** Table of what each character means after each run: `at = row + class` gives the next row and the features to count. */
export const TRANSITIONS = transitions();

function transitions(): { readonly next: Uint16Array; readonly bumps: Uint32Array } {
  const rows = new Map<string, number>();
  const runs: Run[] = [];
  const rowOf = (run: Run): number => {
    const key = JSON.stringify(run);
    const row = rows.get(key) ?? runs.push(run) - 1;
    rows.set(key, row);
    return row;
  };
  rowOf({ kind: 'none' });
  const steps: Step[] = [];
  for (let row = 0; row < runs.length; row++) {
    for (const name of CLASSES) {
      const taken = step(runs[row]!, name);
      rowOf(taken.run);
      steps.push(taken);
    }
  }
  return {
    next: Uint16Array.from(steps, ({ run }) => rowOf(run) * CLASSES.length),
    bumps: Uint32Array.from(steps, ({ counts }) => counts.reduceRight((packed, feature) => packed * 256 + TEXT_FEATURES.indexOf(feature) + 1, 0)),
  };
}
