/** research.js - one research in the panel: how it goes, and its controls. */
import { useEffect, useRef, useState } from 'preact/hooks';

import { t } from '../i18n.js';
import { html, useApp } from '../html.js';
import { isActive } from '../rules.js';
import * as ui from '../ui.js';
import { reportWords, titleOf, verdict } from '../words.js';
import { Activity, Sources } from './activity.js';
import { Awaiting, Stop } from './answer.js';
import { Decisions } from './approval.js';
import { Elapsed, Meters } from './gauges.js';
import { Box } from './field.js';
import { CoverageList, Downloads, Receipt } from './outcome.js';
import { Prose } from './prose.js';
import { Timeline } from './timeline.js';

/**
 * @param {{ run: import('../types.js').Run, first?: boolean,
 *           elsewhere?: boolean }} props
 */
export function ResearchCard({ run, first, elsewhere }) {
    const { store, sync, actions } = useApp();
    const live = isActive(run.state);
    const wanted = ui.panelRun.value === run.id;
    const [word, why] = verdict(run);
    const unread = elsewhere && !live;
    const [open, setOpen] = useState(live || !!first || wanted);
    const place = useRef(/** @type {HTMLElement | null} */ (null));
    const loaded = store.details.get(run.id)?.loaded ?? false;

    useEffect(() => {
        if (open && !loaded) {
            sync.readRun(run.id);
        }
    }, [open, loaded]);
    useEffect(() => {
        if (wanted) {
            setOpen(true);
            place.current?.scrollIntoView({ block: 'start' });
            /** @type {HTMLElement | null | undefined} */ (place.current
                ?.querySelector('.card-title'))?.focus({ preventScroll: true });
        }
    }, [wanted]);
    function show() {
        actions.show(run.conversation_id, run.message_id ?? '');
    }
    return html`
        <article class=${`card ${run.state}${wanted ? ' wanted' : ''}`}
            ref=${place} data-run=${run.id}>
            <header class="card-head">
                <span class=${`dot ${live ? run.state : unread ? 'unread'
                    : 'ended'}`}
                    aria-hidden="true"></span>
                <h3><button type="button" class="card-title" dir="auto"
                    aria-expanded=${open ? 'true' : 'false'}
                    onClick=${() => setOpen(!open)}>${titleOf(run)}</button>
                </h3>
                <${Elapsed} run=${run} />
            </header>
            <p class="card-state"><strong>${word}</strong>
                ${why && ` – ${why}`}
                ${unread && html` · <strong class="fresh">${
                    t('list.unread')}</strong>`}</p>
            ${run.state === 'running' && html`<p class="card-progress" dir="auto">
                ${run.progress || '\u00a0'}</p>`}
            ${open && html`<${CardBody} run=${run} live=${live} />`}
            ${(open || unread) && html`<p class="card-foot"><button
                type="button" class="link" onClick=${unread
                    ? () => actions.openRun(run.id) : show}>${t(unread
                    ? 'panel.open_result' : elsewhere
                        ? 'panel.open_conversation' : 'panel.show_question')}
            </button></p>`}
        </article>`;
}

/** @param {{ run: import('../types.js').Run, live: boolean }} props */
function CardBody({ run, live }) {
    const { store, actions } = useApp();
    const handoffs = store.handoffsTo.get(run.id) ?? [];
    const body = store.texts.get(run.id)?.body ?? '';
    const waited = run.state === 'awaiting_input' || (store.details.get(run.id)
        ?.calls ?? []).some((c) => c.value.name === 'ask_user');

    return html`
        ${!live && html`<${CoverageList} run=${run} />`}
        ${!live && body && html`<${Downloads} id=${run.id} />`}
        <${Awaiting} run=${run} />
        <${Decisions} id=${run.id} />
        ${!live && html`<${Continue} run=${run} />`}
        ${live && html`<div class="card-controls">
            <${Box} place=${`adjust:${run.id}`} label=${t('adjust.label')}
                placeholder=${t('adjust.placeholder')}
                button=${t('adjust.send')}
                onSend=${(/** @type {string} */ text,
                    /** @type {string} */ key) =>
                    actions.adjust(run.id, text, key)} />
            <p class="card-stop"><${Stop} id=${run.id}
                label=${t('research.stop')} note=${t('research.stop.note')} />
                <span class="quiet">${t('research.stop.note')}</span></p>
        </div>`}
        ${handoffs.length > 0 && html`<section class="part">
            <h4>${t('adjust.list')}</h4>
            <ul class="receipts">${handoffs.map((h) => html`
                <${Receipt} key=${h} id=${h} quote />`)}</ul></section>`}
        <${Timeline} run=${run} />
        <${Meters} run=${run} waited=${waited} />
        ${body && html`<${Report} run=${run} body=${body} live=${live} />`}
        <${Activity} id=${run.id} open=${live} />
        <${Sources} id=${run.id} open=${live} />`;
}

/** The draft or the report, as it is in the conversation.
 *  @param {{ run: import('../types.js').Run, body: string, live: boolean
 *      }} props */
function Report({ run, body, live }) {
    const [open, setOpen] = useState(false);
    return html`<details class="part" open=${open}
        onToggle=${(/** @type {any} */ e) => setOpen(e.currentTarget.open)}>
        <summary>${reportWords(run)}</summary>
        ${open && html`<${Prose} text=${body} run=${run.id} live=${live} />`}
    </details>`;
}

/** A new research that goes on from one that has ended.
 *  @param {{ run: import('../types.js').Run }} props */
function Continue({ run }) {
    const { actions } = useApp();
    return html`<div class="card-controls">
        <${Box} place=${`continue:${run.id}`} label=${t('continue.label')}
            placeholder=${t('continue.placeholder')}
            button=${t('continue.send')} mayBeEmpty
            onSend=${(/** @type {string} */ text, /** @type {string} */ key) =>
                actions.proceed(run.id, text, key)} /></div>`;
}
