// watched.mjs - a stand-in whose state a test waits for: whenever it changes, all
// that is waited for is looked at again.

import { PATIENCE_MS } from './patience.mjs';

export class Watched {
  /** @param {string} name for what is said of it */
  constructor(name) {
    this.name = name;
    this.waiting = new Set();
  }

  /** What it was asked so far, in words. */
  seen() {
    return '';
  }

  changed() {
    for (const look of this.waiting) {
      look();
    }
  }

  /** Wait until find() returns something true; rejects after ms. */
  wait(find, what = find.toString(), ms = PATIENCE_MS) {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = find();
        if (found) {
          clearTimeout(timer);
          this.waiting.delete(look);
          resolve(found);
        }
      };
      const timer = setTimeout(() => {
        this.waiting.delete(look);
        reject(new Error(`${this.name} waited ${ms} ms for ${what}; it has seen: ${this.seen()}`));
      }, ms);
      this.waiting.add(look);
      look();
    });
  }
}
