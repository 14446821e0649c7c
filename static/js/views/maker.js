/** maker.js - a new token, and its secret, which is seen once. */
import { useEffect, useRef, useState } from 'preact/hooks';

import * as api from '../api.js';
import { t } from '../i18n.js';
import { html } from '../html.js';
import { why } from '../words.js';

/** @typedef {{ name: string, secret: string }} Made */

const SCOPES = ['read', 'write', 'admin'];
const DAYS = [7, 30, 90, 365];

/** @param {{ onMade: (made: Made) => void }} props */
export function Maker({ onMade }) {
    const [error, setError] = useState('');
    const key = useRef(api.newKey());

    /** @param {any} event */
    async function make(event) {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        const name = String(form.get('name')).trim();
        setError(name ? '' : t('access.name.empty'));
        if (!name) {
            return;
        }
        try {
            const { secret } = await api.makeToken(name,
                String(form.get('scope')), Number(form.get('days')), key.current);
            onMade({ name, secret: secret ?? '' });
        } catch (failed) {
            setError(why(failed));
        }
    }
    return html`
        <form class="access-make" onSubmit=${make}>
            <h3>${t('access.make')}</h3>
            <label>${t('access.name')}
                <input name="name" maxlength="60" autocomplete="off"
                    onInput=${() => {
                        key.current = api.newKey();
                        setError('');
                    }} /></label>
            <label>${t('access.scope')}
                <select name="scope" onChange=${() => {
                    key.current = api.newKey();
                }}>${SCOPES.map((scope) => html`<option value=${scope}>
                    ${t(`access.scope.${scope}`)}</option>`)}</select></label>
            <label>${t('access.days')}
                <select name="days" onChange=${() => {
                    key.current = api.newKey();
                }}>${DAYS.map((days) => html`<option value=${days}
                    selected=${days === 90}>
                    ${t('access.days.n', { n: days })}</option>`)}</select></label>
            <button class="small">${t('access.make.do')}</button>
            ${error && html`<p class="refusal" role="alert">${error}</p>`}
        </form>`;
}

/** The one time that a secret is seen.
 *  @param {{ made: Made, onDone: () => void }} props */
export function Shown({ made, onDone }) {
    const field = useRef(/** @type {HTMLInputElement | null} */ (null));
    const [said, setSaid] = useState('');
    useEffect(() => field.current?.select(), []);

    async function copy() {
        field.current?.select();
        try {
            await navigator.clipboard.writeText(made.secret);
            setSaid(t('access.copied'));
        } catch {
            // Without a secure context there is only what the person does.
            setSaid(document.execCommand?.('copy') ? t('access.copied')
                : t('access.copy.self'));
        }
    }
    return html`
        <div class="access-make access-shown">
            <h3>${t('access.made', { name: made.name })}</h3>
            <p class="quiet" id="access-once">${t('access.once')}</p>
            <input ref=${field} readonly value=${made.secret} dir="ltr"
                aria-label=${t('login.token')} aria-describedby="access-once"
                onFocus=${() => field.current?.select()} />
            <p class="access-do"><button type="button" class="small"
                onClick=${copy}>${t('access.copy')}</button>
            <button type="button" class="small" onClick=${onDone}>
                ${t('access.done')}</button>
            <span role="status" class="quiet">${said}</span></p>
        </div>`;
}
