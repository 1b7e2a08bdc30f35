/**
 * e^(-t/τ) for whole milliseconds, as a product over a table of e^(-2^k/τ). The same literals and the same order of multiplications give the
 * same bits in every language, which `exp` of two libraries does not.
 */

/** e^(-2^k / 10,000 ms), k from 0: of rates and overuse. */
const TEN_SECONDS: readonly number[] = [
  0.9999000049998333, 0.9998000199986667, 0.9996000799893344, 0.9992003199146837, 0.9984012793176064,
  0.9968051145430329, 0.993620436379149, 0.9872815715902905, 0.9747249016017939, 0.9500886338026269,
  0.9026684120809421, 0.8148102621687294, 0.6639157633354735, 0.4407841408053245, 0.19429065878548812,
  0.03774886009129898, 0.0014249764381924648, 0.0000020305578494036836, 4.123165179774912e-12, 1.7000491099708284e-23,
  2.8901669763126057e-46, 8.353065150967951e-92, 6.9773697416315235e-183, 0,
];

/** e^(-2^k / 30,000 ms), k from 0: of debt. */
const THIRTY_SECONDS: readonly number[] = [
  0.999966667222216, 0.9999333355555061, 0.9998666755551605, 0.9997333688857286, 0.9994668088636083,
  0.9989339020200045, 0.997868940604912, 0.9957424226239695, 0.9915029722130518, 0.9830781439073158,
  0.9664426370282532, 0.9340113706661239, 0.8723772405336115, 0.7610420498010387, 0.5791850015653667,
  0.33545526603827386, 0.11253023551280908, 0.012663053904568278, 0.00016035293419000188, 2.571306350334308e-8,
  6.611616347269538e-16, 4.371347072348179e-31, 1.9108675226926996e-61, 3.651414689281735e-122,
];

/** From here on nothing is left of anything. */
const FOREVER_MS = 16_777_216;

/** What is left of a rate after so long: τ = 10 s. */
export function decay10(ms: number): number {
  return product(TEN_SECONDS, ms);
}

/** What is left of a debt after so long: τ = 30 s. */
export function decay30(ms: number): number {
  return product(THIRTY_SECONDS, ms);
}

function product(table: readonly number[], ms: number): number {
  if (ms >= FOREVER_MS) return 0;
  let left = 1;
  let rest = ms;
  for (let k = 0; rest > 0; k++) {
    const half = Math.floor(rest / 2);
    if (rest - 2 * half === 1) left *= table[k]!;
    rest = half;
  }
  return left;
}
