// figures.mjs - numbers: percentiles, and how a row of the result is written.

/** @param {number[]} values @param {number} part 0..1 */
export function percentile(values, part) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

export const spread = (values) => [Math.min(...values), Math.max(...values)];

export const ms = (us) => `${(us / 1000).toFixed(2)} ms`;
export const percent = (ratio) => `${(100 * ratio).toFixed(0)} %`;
export const range = (values, form) => {
  const [least, most] = spread(values);
  return `${form(least)}–${form(most)}`;
};

/**
 * One line of the table.
 * @typedef {object} Figure
 * @property {string} what
 * @property {string} reach the goal, in words
 * @property {string} got
 * @property {boolean|null} met null: no goal, shown for comparison
 * @property {string} how
 * @property {object} raw for bench.json
 */
