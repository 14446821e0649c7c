/** hash.js - what the address names. */

export function readHash() {
    const match = /^#(run|conv)=([\w-]+)$/.exec(location.hash);
    return { run: match?.[1] === 'run' ? match[2] : '',
        conv: match?.[1] === 'conv' ? match[2] : '' };
}
