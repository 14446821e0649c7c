/** field.js - text fields that grow with their text and send with Enter. */
import { useEffect, useRef } from 'preact/hooks';

import { clearDraft, getDraft, keyed, peekDraft, setDraft, write
} from '../drafts.js';
import { html } from '../html.js';
import * as ui from '../ui.js';
import { Waiting } from './waiting.js';

/** @param {HTMLTextAreaElement | null} field */
export function grow(field) {
    if (field && !CSS.supports('field-sizing', 'content')) {
        field.style.height = 'auto';
        field.style.height = `${field.scrollHeight}px`;
    }
}

/** Enter sends, but not the one that ends a word of an input method.
 *  @param {KeyboardEvent} event */
export const isSendKey = (event) => event.key === 'Enter' && !event.shiftKey
    && !event.isComposing && event.keyCode !== 229;

/** Nor does the Escape that is meant for one.
 *  @param {KeyboardEvent} event */
export const isEscape = (event) => event.key === 'Escape'
    && !event.isComposing && event.keyCode !== 229;

/** The second click of a double click is no wish to do it twice, where that
 *  would be done. @param {() => void} [act] */
export const once = (act) => (/** @type {MouseEvent} */ event) => {
    if (event.detail > 1) {
        event.preventDefault();
    } else {
        act?.();
    }
};

/**
 * A small box whose text goes to a Run. The text goes away only when it was
 * accepted. Enter sends a text; without one, only the button does.
 * @param {{ place: string, label: string, placeholder: string, button: string,
 *     onSend: (text: string, key: string) => Promise<boolean>,
 *     mayBeEmpty?: boolean }} props
 */
export function Box({ place, label, placeholder, button, onSend,
    mayBeEmpty }) {
    const draft = getDraft(place);
    const refusal = ui.refusals.value[place];
    const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
    const busy = useRef(false);
    useEffect(() => grow(field.current), [draft.text]);

    /** @param {string} text */
    const isMissing = (text) => !mayBeEmpty && text.trim() === '';

    /** @param {Event} event */
    async function send(event) {
        event.preventDefault();
        const ready = keyed(place);
        const pressed = event instanceof KeyboardEvent
            && (event.repeat || ready.text.trim() === '');
        if (busy.current || pressed || isMissing(ready.text)) {
            return;
        }
        busy.current = true;
        setDraft(place, ready);
        const accepted = await onSend(ready.text, ready.key);
        busy.current = false;
        if (accepted && peekDraft(place).text === ready.text) {
            clearDraft(place);
        }
    }
    return html`
        <form class="box" onSubmit=${send}>
            <textarea ref=${field} rows="1" dir="auto" value=${draft.text}
                aria-label=${label} placeholder=${placeholder}
                onInput=${(/** @type {any} */ e) =>
                    write(place, e.currentTarget.value)}
                onKeyDown=${(/** @type {KeyboardEvent} */ e) =>
                    isSendKey(e) && send(e)}></textarea>
            <button type="submit" class="small" onClick=${once()}
                aria-disabled=${isMissing(draft.text) ? 'true' : 'false'}>
                ${button}</button>
            <${Waiting} place=${place} word="send.sending"
                slow="wait.slow.send" />
            ${refusal && html`<p class="refusal" role="alert">${refusal}</p>`}
        </form>`;
}
