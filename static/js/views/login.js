/**
 * login.js - the way in: a token is pasted. It lies over the page, which keeps
 * what was being written, and goes when the server knows who asks.
 */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import * as api from '../api.js';
import { hear, tellTabs } from '../gate.js';
import { t } from '../i18n.js';
import { html, useApp } from '../html.js';
import { why } from '../words.js';
import { Language } from './list.js';

export function Login() {
    const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
    const field = useRef(/** @type {HTMLInputElement | null} */ (null));
    const [error, setError] = useState('');
    const [busy, setBusy] = useState(false);
    const { store } = useApp();
    const [kept] = useState(store.loaded.peek());

    useLayoutEffect(() => {
        const { current } = box;
        current?.showModal();
        field.current?.focus();
        return () => current?.close();
    }, []);

    /** @param {Event} event */
    async function enter(event) {
        event.preventDefault();
        const input = /** @type {HTMLInputElement} */ (field.current);
        const token = input.value.trim();
        if (busy) {
            return;
        }
        if (!token) {
            setError(t('login.empty'));
            input.focus();
            return;
        }
        setBusy(true);
        setError('');
        try {
            await api.login(token);
            input.value = '';
            tellTabs();
            hear(null);
        } catch (failed) {
            setError(why(failed));
            setBusy(false);
            input.select();
        }
    }

    /** There is nothing behind it to go to. @param {KeyboardEvent} event */
    function stay(event) {
        if (event.key === 'Escape') {
            event.preventDefault();
        }
    }
    return html`
        <dialog class="login" ref=${box} aria-labelledby="login-title"
            onKeyDown=${stay}
            onCancel=${(/** @type {Event} */ e) => e.preventDefault()}>
            <form class="login-inside" onSubmit=${enter}>
                <h1 id="login-title" class="brand">Aside</h1>
                <p id="login-help" class="quiet">
                    ${t(kept ? 'login.kept' : 'login.help')}</p>
                <label for="login-token">${t('login.token')}</label>
                <input id="login-token" ref=${field} type="password"
                    autocomplete="off" autocapitalize="none" spellcheck=${false}
                    aria-describedby="login-help"
                    aria-invalid=${error ? 'true' : undefined}
                    onInput=${() => setError('')} />
                <p class="refusal" role="alert">${error}</p>
                <button class="login-enter" aria-disabled=${busy}>
                    ${busy ? t('login.busy') : t('login.enter')}</button>
                <div class="login-foot"><${Language} /></div>
            </form>
        </dialog>`;
}
