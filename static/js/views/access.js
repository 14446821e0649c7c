/**
 * access.js - who may come in: the browsers that are logged in, and the tokens
 * that browsers and programs log in with. A dialog over the page.
 *
 * @import { Session, Token } from '../types.js'
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import * as api from '../api.js';
import { day, t, when } from '../i18n.js';
import { Icon, html, useApp } from '../html.js';
import { SPACE, remember } from '../keep.js';
import * as ui from '../ui.js';
import { why } from '../words.js';
import { loss } from './leave.js';
import { Maker, Shown } from './maker.js';

/** Under this name other tabs are told that something became another. */
const CHANGES = 'access';

const tell = () => remember(CHANGES, Date.now());

/** How often it is looked for what others did elsewhere. */
const AGAIN_MS = 10_000;


/** @typedef {{ sessions: Session[], tokens: Token[] }} Known */
/** @typedef {import('./maker.js').Made} Made */

export function Access() {
    const { actions } = useApp();
    const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
    const [known, setKnown] = useState(/** @type {Known | null} */ (null));
    const [made, setMade] = useState(/** @type {Made | null} */ (null));
    const [error, setError] = useState('');
    const close = () => { ui.accessOpen.value = false; };

    useLayoutEffect(() => {
        const { current } = box;
        current?.showModal();
        return () => current?.close();
    }, []);

    async function look() {
        try {
            const [{ sessions }, { tokens }] = await Promise.all(
                [api.sessions(), api.tokens()]);
            setKnown({ sessions, tokens });
        } catch (failed) {
            setError(why(failed));
        }
    }
    // Others may end and make some meanwhile: in a tab of this browser, which
    // tells of it, or anywhere.
    useEffect(() => {
        look();
        const heard = (/** @type {StorageEvent} */ event) =>
            event.key === SPACE + CHANGES && look();
        const seen = () => document.visibilityState === 'visible' && look();
        const timer = setInterval(seen, AGAIN_MS);
        addEventListener('storage', heard);
        document.addEventListener('visibilitychange', seen);
        return () => {
            clearInterval(timer);
            removeEventListener('storage', heard);
            document.removeEventListener('visibilitychange', seen);
        };
    }, []);

    /** Do it, then see what there is. @param {() => Promise<any>} deed */
    async function change(deed) {
        setError('');
        try {
            await deed();
        } catch (failed) {
            setError(why(failed));
        }
        tell();
        await look();
    }

    /** @param {Session} session */
    const end = (session) => (session.current ? actions.leave()
        : change(() => api.endSession(session.id)));

    return html`
        <dialog class="find access" ref=${box} aria-label=${t('access.title')}
            onClose=${close} onClick=${(/** @type {MouseEvent} */ e) =>
                e.target === box.current && close()}>
            <div class="find-inside">
                <div class="find-head audit-head">
                    <h2>${t('access.title')}</h2>
                    <button type="button" class="icon-button" onClick=${close}
                        aria-label=${t('access.close')}>
                        <${Icon} name="close" /></button>
                </div>
                ${error && html`<p class="refusal" role="alert">${error}</p>`}
                <div class="finds" tabindex="0" role="region"
                    aria-label=${t('access.title')}>
                    ${known ? html`
                        <h3 id="access-sessions">${t('access.sessions')}</h3>
                        <ul class="access-rows" aria-labelledby="access-sessions">
                            ${known.sessions.map((s) => html`<${SessionRow}
                                key=${s.id} session=${s}
                                onEnd=${() => end(s)} />`)}</ul>
                        <h3 id="access-tokens">${t('access.tokens')}</h3>
                        <ul class="access-rows" aria-labelledby="access-tokens">
                            ${known.tokens.map((k) => html`<${TokenRow}
                                key=${k.id} token=${k} onRevoke=${() =>
                                    change(() => api.revokeToken(k.id))} />`)}
                        </ul>
                        ${made ? html`<${Shown} made=${made}
                            onDone=${() => setMade(null)} />`
                            : html`<${Maker} onMade=${(
                                /** @type {Made} */ one) => {
                                setMade(one);
                                tell();
                                look();
                            }} />`}`
                    : html`<p class="find-state quiet" role="status">
                        ${error ? '' : t('audit.loading')}</p>`}
                </div>
            </div>
        </dialog>`;
}

/** A button that asks once more before it does what cannot be undone, and says
 *  what goes with it.
 *  @param {{ word: string, name: string, onDo: () => void,
 *      lost?: () => string }} props */
function Sure({ word, name, onDo, lost }) {
    const [asked, setAsked] = useState(false);
    const place = useRef(/** @type {HTMLElement | null} */ (null));
    useEffect(() => {
        if (asked) {
            place.current?.querySelector('button')?.focus();
        }
    }, [asked]);
    return asked ? html`
        <span class="access-sure" ref=${place}>
            ${lost?.() && html`<span role="alert">${lost()}</span>`}
            <button type="button" class="small danger" onClick=${onDo}>
                ${t('access.sure', { word })}</button>
            <button type="button" class="small"
                onClick=${() => setAsked(false)}>${t('cancel')}</button></span>`
        : html`<button type="button" class="small" aria-label=${`${word}: ${name}`}
            onClick=${() => setAsked(true)}>${word}</button>`;
}

/** @param {{ session: Session, onEnd: () => void }} props */
function SessionRow({ session, onEnd }) {
    const name = browserOf(session.agent) || t('access.browser');
    return html`
        <li class="access-row">
            <span class="access-what"><span dir="auto">${name}</span>
                ${session.current && html`
                    <span class="access-mark">${t('access.current')}</span>`}
            </span>
            <span class="quiet access-more">${[
                t('access.by', { token: session.token }), session.address
                    && t('audit.from', { address: session.address }),
                t('access.seen', { when: when(session.seen_at) })]
                .filter(Boolean).join(' · ')}</span>
            <${Sure} word=${session.current ? t('access.leave')
                : t('access.end')} name=${name} onDo=${onEnd}
                lost=${session.current ? loss : undefined} />
        </li>`;
}

/** @param {{ token: Token, onRevoke: () => void }} props */
function TokenRow({ token, onRevoke }) {
    const { name, expires_at: until, last_used_at: used } = token;
    return html`
        <li class="access-row">
            <span class="access-what"><span dir="auto">${name}</span>
                <span class="access-mark">${t(`access.scope.${token.scope}`)}
                </span></span>
            <span class="quiet access-more">${[until < Date.now()
                ? t('access.expired') : t('access.until', { when: day(until) }),
                used ? t('access.used', { when: when(used) })
                    : t('access.unused')].join(' · ')}</span>
            <${Sure} word=${t('access.revoke')} name=${name}
                onDo=${onRevoke} />
        </li>`;
}

/** A browser in few words. @param {string} agent */
function browserOf(agent) {
    const browser = agent.match(
        /(Firefox|Edg|OPR|HeadlessChrome|Chrome|Safari)\/\d+/)?.[1] ?? '';
    const system = agent.match(
        /(Windows|Android|iPhone|iPad|Mac OS X|Linux)/)?.[1] ?? '';
    const name = { Edg: 'Edge', OPR: 'Opera', HeadlessChrome: 'Chrome' }[browser]
        ?? browser;
    return [name, system].filter(Boolean).join(', ') || agent;
}
