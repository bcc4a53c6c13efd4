// Keeps the screen on while the page is live, because a phone that locks its screen stops the camera.

export class Awake {
  #lock = null;
  #isWanted = false;

  /** @param {WakeLock | undefined} [locks] The browser's wake locks. Some browsers have none, or only over HTTPS. */
  constructor(locks = navigator.wakeLock) { this.locks = locks; }

  /** @param {boolean} isWanted */
  async set(isWanted) {
    this.#isWanted = isWanted;
    if (!isWanted) {
      await this.#lock?.release();
      this.#lock = null;
    } else await this.renew();
  }

  /** Requests the lock again, because browsers release it while the page is hidden. */
  async renew() {
    if (!this.#isWanted || !this.locks || this.#lock?.released === false) return;
    // Browsers refuse it while the battery is low.
    const lock = await this.locks.request("screen").catch(() => null);
    if (this.#isWanted && !(this.#lock?.released === false)) this.#lock = lock;
    else await lock?.release();
  }
}
