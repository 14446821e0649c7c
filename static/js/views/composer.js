/**
 * composer.js - where one writes. Nothing that runs ever closes it.
 *
 * @import { Mode } from '../types.js'
 */
import { useEffect, useRef } from 'preact/hooks';

import { choose, clearDraft, getDraft, keyed, write } from '../drafts.js';
import { t } from '../i18n.js';
import { Icon, html, useApp } from '../html.js';
import * as ui from '../ui.js';
import { grow, isSendKey } from './field.js';

/** @type {Mode[]} */
const MODES = ['auto', 'background', 'deep'];

/** @param {{ place: string }} props */
export function Composer({ place }) {
    const { store, actions } = useApp();
    const draft = getDraft(place);
    const refusal = ui.refusals.value[place];
    const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
    const wanted = ui.focusComposer.value;

    useEffect(() => grow(field.current), [draft.text, place]);
    useEffect(() => {
        if (wanted > 0) {
            field.current?.focus();
        }
    }, [wanted]);

    function send() {
        const ready = keyed(place);
        if (ready.text.trim() !== '') {
            clearDraft(place);
            actions.send(place, ready);
        }
    }
    /** @param {KeyboardEvent} event */
    function onKey(event) {
        if (isSendKey(event)) {
            event.preventDefault();
            send();
        }
    }
    /** @param {Event} event */
    function onSubmit(event) {
        event.preventDefault();
        send();
        field.current?.focus();
    }
    return html`
        <form class="composer" id="composer" onSubmit=${onSubmit}>
            ${refusal && html`<p class="refusal" role="alert">
                ${refusal} <span class="quiet">${t('composer.kept')}</span></p>`}
            <div class="composer-box">
                <textarea ref=${field} rows="1" dir="auto" value=${draft.text}
                    aria-label=${t('composer.label')}
                    placeholder=${t('composer.placeholder')}
                    onInput=${(/** @type {any} */ e) =>
                        write(place, e.currentTarget.value)}
                    onKeyDown=${onKey}></textarea>
                <div class="composer-row">
                    <${Modes} place=${place} mode=${draft.mode} />
                    <button type="submit" class="send"
                        aria-label=${t('composer.send')}
                        aria-disabled=${draft.text.trim() === ''
                            ? 'true' : 'false'}><${Icon} name="send" /></button>
                </div>
            </div>
            ${store.health.value?.offline
                ? html`<p class="composer-foot quiet">${t('offline_model')}</p>`
                : html`<p class="composer-foot of-keys quiet">
                    ${t('composer.keys')}</p>`}
        </form>`;
}

/** @param {{ place: string, mode: Mode }} props */
function Modes({ place, mode }) {
    return html`
        <fieldset class="modes">
            <legend class="sr">${t('mode')}</legend>
            ${MODES.map((m) => html`
                <label class=${`mode${m === mode ? ' chosen' : ''}`}
                    title=${t(`mode.${m}.means`)}>
                    <input type="radio" name="mode" value=${m} class="sr"
                        checked=${m === mode}
                        onChange=${() => choose(place, m)} />
                    <span>${t(`mode.${m}`)}</span>
                    <span class="sr">: ${t(`mode.${m}.means`)}</span>
                </label>`)}
            <span class="mode-means quiet" aria-hidden="true">
                ${t(`mode.${mode}.means`)}</span>
        </fieldset>`;
}
