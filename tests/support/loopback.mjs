// loopback.mjs - loaded before a server that would listen everywhere: it listens
// on 127.0.0.1 alone.

import net from 'node:net';

const { listen } = net.Server.prototype;

/** @param {string|number} port @param {...any} rest */
net.Server.prototype.listen = function listenLocally(port, ...rest) {
  return listen.call(this, Number(port), '127.0.0.1', ...rest);
};
