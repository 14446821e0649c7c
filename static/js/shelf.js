/**
 * shelf.js - a map of signals: who reads one thing is told of that thing only.
 */
import { signal } from '@preact/signals';

/** @template T */
export class Shelf {
    /** @type {Map<string, import('@preact/signals').Signal<T | undefined>>} */
    #cells = new Map();

    /** @param {string} id */
    #cell(id) {
        let cell = this.#cells.get(id);
        if (!cell) {
            cell = signal(/** @type {T | undefined} */ (undefined));
            this.#cells.set(id, cell);
        }
        return cell;
    }

    /** Read, and be told of changes. @param {string} id */
    get(id) {
        return this.#cell(id).value;
    }

    /** Read without being told. @param {string} id */
    peek(id) {
        return this.#cells.get(id)?.peek();
    }

    /** @param {string} id @param {T} value */
    set(id, value) {
        this.#cell(id).value = value;
    }

    keys() {
        return this.#cells.keys();
    }

    /** Everything is forgotten; who reads is told. */
    clear() {
        for (const cell of this.#cells.values()) {
            cell.value = undefined;
        }
    }
}

/**
 * A list of ids per key, each once.
 * @extends {Shelf<string[]>}
 */
export class Index extends Shelf {
    /** @param {string} key @param {string} id */
    add(key, id) {
        const now = this.peek(key) ?? [];
        if (!now.includes(id)) {
            this.set(key, [...now, id]);
        }
    }
}
