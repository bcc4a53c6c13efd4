// Keeps the screen on while the page is live: a phone that locks it takes the camera away.

export class Awake {
  #lock = null;
  #isWanted = false;

  /** @param {WakeLock | undefined} [locks] The browser's; some have none, or only over HTTPS. */
  constructor(locks = navigator.wakeLock) { this.locks = locks; }

  /** @param {boolean} isWanted */
  async set(isWanted) {
    this.#isWanted = isWanted;
    if (!isWanted) {
      await this.#lock?.release();
      this.#lock = null;
    } else await this.renew();
  }

  /** Asks again: browsers give it up while nobody sees the page. */
  async renew() {
    if (!this.#isWanted || !this.locks || this.#lock?.released === false) return;
    // Refused while the battery is low.
    const lock = await this.locks.request("screen").catch(() => null);
    if (this.#isWanted && !(this.#lock?.released === false)) this.#lock = lock;
    else await lock?.release();
  }
}
