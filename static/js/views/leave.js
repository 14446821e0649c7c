/** leave.js - the way out, which says what would be lost. */
import { useEffect, useRef, useState } from 'preact/hooks';

import { unsent } from '../drafts.js';
import { t } from '../i18n.js';
import { html, useApp } from '../html.js';

/** What goes with a logout, in words; '' if nothing does. */
export function loss() {
    const n = unsent();
    return n > 0 ? t('access.leave.unsent', { n }) : '';
}

export function Leave() {
    const { actions } = useApp();
    const [lost, setLost] = useState('');
    const [refusal, setRefusal] = useState('');
    const place = useRef(/** @type {HTMLElement | null} */ (null));
    useEffect(() => {
        if (lost) {
            place.current?.querySelector('button')?.focus();
        }
    }, [lost]);

    const leave = async () => setRefusal(await actions.leave());

    function begin() {
        const what = loss();
        setLost(what);
        if (!what) {
            leave();
        }
    }
    return html`${lost ? html`
        <div class="leave-sure" ref=${place} role="group"
            aria-label=${t('access.leave')}>
            <p role="alert">${lost}</p>
            <button type="button" class="small danger" onClick=${leave}>
                ${t('access.leave.forget')}</button>
            <button type="button" class="small"
                onClick=${() => setLost('')}>${t('cancel')}</button>
        </div>` : html`<button type="button" class="audit-open"
            onClick=${begin}>${t('access.leave')}</button>`}
        ${refusal && html`<p class="refusal" role="alert">${refusal}</p>`}`;
}
