/**
 * prose.js - a text of a model, as it grows.
 *
 * @typedef {{ token: import('marked').Token, alone: boolean, label: string,
 *     draw: typeof import('../markdown.js').drawBlock }} BlockProps
 */
import { signal } from '@preact/signals';
import { Component } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import { t } from '../i18n.js';
import { html, useApp } from '../html.js';
import { passageEvents } from './passage.js';

/** What draws Markdown: it comes after the first picture.
 *  @type {import('@preact/signals').Signal<
 *     typeof import('../markdown.js') | null>} */
const drawing = signal(null);
let isComing = false;

/** Until it is there, and if it cannot be had, texts are shown as they are. */
export async function loadMarkdown() {
    if (!isComing) {
        isComing = true;
        try {
            drawing.value = await import('../markdown.js');
        } catch {
            isComing = false;
        }
    }
}

/**
 * The value as of the last frame: however often it changes, what hangs on it
 * is drawn once a frame.
 * @template T
 * @param {T} value
 */
function useFrame(value) {
    const [shown, setShown] = useState(value);
    const newest = useRef(value);
    const frame = useRef(0);

    newest.current = value;
    useEffect(() => {
        if (!frame.current && newest.current !== shown) {
            frame.current = requestAnimationFrame(() => {
                frame.current = 0;
                setShown(newest.current);
            });
        }
    });
    useEffect(() => () => cancelAnimationFrame(frame.current), []);
    return shown;
}

/** No passage has a number like a year, but in databases from before that was
 *  so; there are then at least as many.
 *  @param {{ value: { n: number } }[]} sources */
const yearsOf = (sources) => new Set(sources.length < 1500 ? []
    : sources.map((s) => s.value.n).filter((n) => n >= 1500 && n <= 2100));

/**
 * @param {{ text: string, run: string, live: boolean }} props  `run` is whose
 *     sources the citations name
 */
export function Prose({ text, run, live }) {
    const shown = useFrame(text);
    const draw = drawing.value;
    const years = yearsOf(useApp().store.details.get(run)?.sources ?? []);
    useEffect(() => { loadMarkdown(); }, []);
    if (!draw) {
        return html`<p class="prose plain" dir="auto">${shown}</p>`;
    }
    const { tokens, alone } = draw.blocks(shown, years);
    return html`
        <div class=${`prose${live ? ' live' : ''}`} dir="auto"
            ...${passageEvents(run)}>
            ${tokens.map((token, i) => html`<${Block} key=${i} token=${token}
                alone=${alone && years.size === 0} label=${t('source')}
                draw=${draw.drawBlock} />`)}
        </div>`;
}

/** Drawn anew only if its text changed: of a growing text, the last one.
 *  @extends {Component<BlockProps>} */
class Block extends Component {
    /** @param {BlockProps} next */
    shouldComponentUpdate(next) {
        return !next.alone || next.token.raw !== this.props.token.raw
            || next.label !== this.props.label;
    }

    render() {
        return this.props.draw(this.props.token, this.props.label);
    }
}
