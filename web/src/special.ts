// Special functions and small linear algebra, in double precision.

/** erfc by its series near zero and its continued fraction elsewhere. */
export function erfc(x: number): number {
  if (x < 0) return 2 - erfc(-x);
  if (x < 2.5) {
    let [term, total] = [x, x];
    for (let k = 1; k < 200 && Math.abs(term) > 1e-18 * Math.abs(total); k++) {
      term *= (-x * x) / k;
      total += term / (2 * k + 1);
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * total;
  }
  let fraction = 0;
  for (let k = 120; k > 0; k--) fraction = (k / 2) / (x + fraction);
  return Math.exp(-x * x) / (Math.sqrt(Math.PI) * (x + fraction));
}

/** By the error function, as Python's: what is smaller than rounding is zero. */
export function normalCdf(x: number): number {
  return 0.5 * (1 + (1 - erfc(x / Math.SQRT2)));
}

/** The normal quantile, by Newton's method on the cdf. */
export function normalQuantile(p: number): number {
  if (p === 0.5) return 0;
  const tail = Math.min(p, 1 - p);
  let x = Math.sqrt(-2 * Math.log(tail));
  for (let k = 0; k < 100; k++) {
    const value = 0.5 * erfc(x / Math.SQRT2);
    const step = (value - tail) / (Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI));
    x += step;
    if (Math.abs(step) < 1e-14 * Math.max(1, x)) break;
  }
  return p < 0.5 ? -x : x;
}

const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905,
  -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];

export function logGamma(x: number): number {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  const series = LANCZOS.reduce((total, c, k) => (k ? total + c / (x - 1 + k) : c), 0);
  const t = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(series);
}

/** P(chi-squared with so many degrees of freedom > x): a finite sum of Poisson terms, added in logarithms. */
export function chiSquaredTail(x: number, degrees: number): number {
  const half = 0.5 * x;
  if (half <= 0) return 1;
  const odd = degrees % 2;
  let tail = odd ? erfc(Math.sqrt(half)) : 0;
  for (let k = 0; k < Math.floor(degrees / 2); k++) {
    const power = k + 0.5 * odd;
    tail += Math.exp(-half + power * Math.log(half) - logGamma(power + 1));
  }
  return Math.min(1, tail);
}

export function expit(x: number): number {
  return 0.5 * (1 + Math.tanh(0.5 * x));
}

/** Solve a x = b for a symmetric positive matrix, by Cholesky's decomposition. */
export function solve(a: number[][], b: number[]): number[] {
  const n = b.length;
  const l = a.map((row) => row.slice());
  for (let j = 0; j < n; j++) {
    for (let k = 0; k < j; k++) for (let i = j; i < n; i++) l[i]![j]! -= l[i]![k]! * l[j]![k]!;
    const pivot = Math.sqrt(Math.max(l[j]![j]!, 1e-300));
    for (let i = j; i < n; i++) l[i]![j]! /= pivot;
  }
  const x = b.slice();
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < i; k++) x[i]! -= l[i]![k]! * x[k]!;
    x[i]! /= l[i]![i]!;
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let k = i + 1; k < n; k++) x[i]! -= l[k]![i]! * x[k]!;
    x[i]! /= l[i]![i]!;
  }
  return x;
}

/** Eigenvalues and eigenvectors (as rows) of a symmetric matrix, by Jacobi's rotations. */
export function eigen(matrix: number[][]): { values: number[]; vectors: number[][] } {
  const n = matrix.length;
  const a = matrix.map((row) => row.slice());
  const v: number[][] = a.map((_, i) => a.map((__, j) => (i === j ? 1 : 0)));
  const size = a.reduce((total, row) => total + row.reduce((s, value) => s + value * value, 0), 0);
  for (let sweep = 0; sweep < 60; sweep++) {
    let off = 0;
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) off += a[p]![q]! ** 2;
    if (off <= 1e-26 * size) break;
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        if (a[p]![q] === 0) continue;
        const theta = (a[q]![q]! - a[p]![p]!) / (2 * a[p]![q]!);
        const t = (theta >= 0 ? 1 : -1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
        const c = 1 / Math.sqrt(t * t + 1);
        const s = t * c;
        for (let k = 0; k < n; k++) {
          const [kp, kq] = [a[k]![p]!, a[k]![q]!];
          a[k]![p] = c * kp - s * kq;
          a[k]![q] = s * kp + c * kq;
        }
        for (let k = 0; k < n; k++) {
          const [pk, qk] = [a[p]![k]!, a[q]![k]!];
          a[p]![k] = c * pk - s * qk;
          a[q]![k] = s * pk + c * qk;
          const [vp, vq] = [v[p]![k]!, v[q]![k]!];
          v[p]![k] = c * vp - s * vq;
          v[q]![k] = s * vp + c * vq;
        }
      }
    }
  }
  return { values: a.map((row, i) => row[i]!), vectors: v };
}
