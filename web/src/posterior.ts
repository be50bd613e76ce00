// Posteriors: of one number, of the ends of an identified set, and what its width is made of. As in ivicl/posterior.py.

/** Probabilities of bins with the given edges; the density is constant inside a bin. */
export class BinnedPosterior {
  readonly probabilities: Float64Array;

  constructor(
    readonly edges: Float64Array,
    masses: Float64Array,
  ) {
    const total = sum(masses);
    this.probabilities = Math.abs(total - 1) < 1e-12 ? masses : masses.map((m) => m / total);
  }

  private filled: { bins: Uint32Array; cumulated: Float64Array } | null = null;

  /** The smallest x with cdf(x) >= q, interpolated inside a bin. */
  quantile(q: number): number {
    this.filled ??= this.fillBins();
    const { bins, cumulated } = this.filled;
    let [low, high] = [0, bins.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (cumulated[middle]! < q) low = middle + 1;
      else high = middle;
    }
    const bin = bins[low]!;
    const mass = this.probabilities[bin]!;
    const share = Math.min(Math.max((q - (cumulated[low]! - mass)) / mass, 0), 1);
    return this.edges[bin]! + share * (this.edges[bin + 1]! - this.edges[bin]!);
  }

  private fillBins(): { bins: Uint32Array; cumulated: Float64Array } {
    const bins = Uint32Array.from([...this.probabilities.keys()].filter((k) => this.probabilities[k]! > 0));
    let total = 0;
    return { bins, cumulated: Float64Array.from(bins, (k) => (total += this.probabilities[k]!)) };
  }

  cdf(x: number): number {
    const { edges, probabilities } = this;
    if (x <= edges[0]!) return 0;
    let cumulated = 0;
    for (let k = 0; k < probabilities.length; k++) {
      if (x < edges[k + 1]!) return Math.min(cumulated + (probabilities[k]! * (x - edges[k]!)) / (edges[k + 1]! - edges[k]!), 1);
      cumulated += probabilities[k]!;
    }
    return 1;
  }

  interval(alpha: number): [number, number] {
    return [this.quantile(alpha / 2), this.quantile(1 - alpha / 2)];
  }

  get mean(): number {
    return this.probabilities.reduce((total, p, k) => total + p * (0.5 * this.edges[k]! + 0.5 * this.edges[k + 1]!), 0);
  }

  get sd(): number {
    const mean = this.mean;
    const variance = this.probabilities.reduce((total, p, k) => {
      const [low, high] = [this.edges[k]!, this.edges[k + 1]!];
      return total + p * ((0.5 * low + 0.5 * high - mean) ** 2 + (high - low) ** 2 / 12);
    }, 0);
    return Math.sqrt(variance);
  }

  get probPositive(): number {
    return 1 - this.cdf(0);
  }

  /** The law of factor * value, for a factor above zero. */
  scaled(factor: number): BinnedPosterior {
    return new BinnedPosterior(this.edges.map((e) => e * factor), this.probabilities);
  }

  toJSON(): { edges: number[]; probabilities: number[] } {
    return { edges: [...this.edges], probabilities: [...this.probabilities] };
  }

  /** From the plain copy that a worker sends. */
  static revive(plain: { edges: Float64Array; probabilities: Float64Array }): BinnedPosterior {
    return new BinnedPosterior(plain.edges, plain.probabilities);
  }
}

export class IdentifiedSet {
  constructor(
    readonly lower: BinnedPosterior,
    readonly upper: BinnedPosterior,
  ) {}

  scaled(factor: number): IdentifiedSet {
    return new IdentifiedSet(this.lower.scaled(factor), this.upper.scaled(factor));
  }

  /** From the lower end's alpha/2 to the upper end's 1 - alpha/2 quantile: holds the set with 1 - alpha. */
  interval(alpha: number): [number, number] {
    const [lower, upper] = [this.lower.quantile(alpha / 2), this.upper.quantile(1 - alpha / 2)];
    const middle = 0.5 * lower + 0.5 * upper;
    return [Math.min(lower, middle), Math.max(upper, middle)];
  }
}

export interface WidthParts {
  width: number;
  /** Expected width of the identified set: what would remain with endless data of this kind. */
  notIdentified: number;
  /** The rest: what more people would take away. */
  notEnoughData: number;
}

export function widthParts(ends: IdentifiedSet, alpha: number): WidthParts {
  const [lower, upper] = ends.interval(alpha);
  const width = upper - lower;
  const notIdentified = Math.min(Math.max(ends.upper.mean - ends.lower.mean, 0), width);
  return { width, notIdentified, notEnoughData: width - notIdentified };
}

export function sum(values: Float64Array): number {
  return values.reduce((a, b) => a + b, 0);
}
