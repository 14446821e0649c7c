/**
 * newest.js - what is shown of something that is asked for again and again, and
 * in pages. Replies come in any order: one to an older question is dropped, and
 * so is a further page of what is shown no longer.
 */
import { useRef, useState } from 'preact/hooks';

/**
 * @template T
 * @typedef {T | ((now: T) => T)} Next  the value, or what makes it of the one
 *     that is shown
 */

/** @template T @param {T} initial */
export function useNewest(initial) {
    const [value, setValue] = useState(initial);
    const turn = useRef(0);

    /** Ask anew: all that was asked before is old. */
    function ask() {
        turn.current += 1;
        const mine = turn.current;
        const isNewest = () => mine === turn.current;
        /** @param {Next<T>} next */
        const tell = (next) => {
            if (isNewest()) {
                setValue(next);
            }
        };
        return { isNewest, tell };
    }

    /** Show next, which was made of the value before, if that is shown still.
     *  @param {T} before @param {T} next */
    function extend(before, next) {
        setValue((now) => now === before ? next : now);
    }

    return { value, ask, extend };
}
